import test from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodonOauth } from '../../../networks/mastodon/oauth.ts';
import { openConnection } from '../connection.ts';
import { beginning, contextFor } from '../oauth/context.ts';
import { startScriptedServer, type Answer } from '../oauth/scripted-server.ts';

const account: Answer = { json: { id: '1', username: 'ana' } };

test('an account id that the database cannot store is refused', async (t) => {
  for (const id of ['1\u0000', '1\n', '\ud800', ' ', '']) {
    const server = await startScriptedServer(t, () => ({ json: { id, username: 'ana' } }));
    const { http } = contextFor(t, [server.url]);
    const error = await t.throwsAsync(
      connectMastodon(http, { baseUrl: server.url, accessToken: 'a' }),
    );
    t.like(error, { code: 'network_unavailable' }, JSON.stringify(id));
  }
});

test('a post URL that is invalid or too long is not accepted', async (t) => {
  const server = await startScriptedServer(t, () => ({ json: status }));
  let status = {};
  const hostile = {
    baseUrl: server.url,
    remoteId: '1',
    handle: '@ana@social.example',
    credentials: { accessToken: 'a' },
    session: null,
    settings: {},
  };
  const part = { key: 'k', text: 'Hello', media: [], options: {}, data: { sinceId: null } };
  const send = () =>
    mastodonNetwork.send(openConnection(t, hostile), { parts: [part], sent: [] }, []);
  for (const url of [
    'https://x/\u0000',
    'https://[\ud800',
    'x/y',
    'https://bank.example@other.example/login',
    'http://%zz/',
    `https://x/${'日'.repeat(2030)}`,
    `https://${'x'.repeat(2100)}`,
  ]) {
    for (const addresses of [{ url, uri: 'https://x/1' }, { uri: url }]) {
      status = { id: '1', content: '<p>Hello</p>', ...addresses };
      const error = await t.throwsAsync(send());
      t.like(error, { code: 'network_unavailable', accepted: 'unknown' }, url.slice(0, 20));
    }
  }

  status = { id: '1', content: '<p>Hello</p>', uri: `https://x/${'y'.repeat(2000)}` };
  t.like(await send(), [{ remoteId: '1' }]);
});

test("invalid media types are left out of a server's list", async (t) => {
  const types = ['image/\u0000x', 'image/png', 'video/\n', 'audio/ogg'];
  const configuration = { media_attachments: { supported_mime_types: types } };
  const server = await startScriptedServer(t, ({ path }) =>
    path === '/api/v2/instance' ? { json: { configuration } } : account,
  );
  const { http } = contextFor(t, [server.url]);
  const { settings } = await connectMastodon(http, { baseUrl: server.url, accessToken: 'a' });
  t.deepEqual(settings, { mediaTypes: ['image/png'] });
});

test('a client id with control characters counts as an unsupported server', async (t) => {
  for (const client_id of ['a\u0000', 'a\nb', '\ud800']) {
    const server = await startScriptedServer(t, ({ path }) =>
      path === '/api/v1/apps'
        ? { json: { client_id, client_secret: 'secret' } }
        : { status: 404, json: {} },
    );
    const context = contextFor(t, [server.url]);
    const error = await t.throwsAsync(mastodonOauth.begin(beginning(context, { url: server.url })));
    t.like(error, { name: 'OauthError', code: 'unsupported' }, JSON.stringify(client_id));
  }
});
