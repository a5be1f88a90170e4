import test, { type ExecutionContext } from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodon } from '../../../networks/mastodon/entry.ts';
import { serverNameIn } from '../../../networks/mastodon/oauth.ts';
import type { OauthContext } from '../../../networks/oauth/contract.ts';
import type { Egress, EgressRequest } from '../../../runtime/egress/egress.ts';
import { loaded } from '../oauth/connect-by.ts';
import { beginning, contextFor, redirectUri, registeredApps, state } from '../oauth/context.ts';
import { startScriptedServer, type Answer, type Asked } from '../oauth/scripted-server.ts';

const baseUrl = 'https://server.example';

test("a handle whose domain is not the server's own is shown with the server's name", async (t) => {
  const shown = async (domain: string | undefined, path = '') => {
    const answers: Record<string, object> = {
      [`${baseUrl}${path}/api/v1/accounts/verify_credentials`]: { id: '1', username: 'demo' },
      [`${baseUrl}${path}/api/v2/instance`]: { domain },
    };
    const http: Egress = {
      request: async ({ url }: EgressRequest) => {
        const body = Buffer.from(JSON.stringify(answers[url] ?? t.fail(url)));
        return { status: 200, headers: {}, body, truncated: false };
      },
      close: async () => undefined,
    };
    const login = { baseUrl: baseUrl + path, accessToken: 'a' };
    return (await connectMastodon(http, login)).handle;
  };
  t.is(await shown('mastodon.social'), '@demo@mastodon.social (server.example)');
  for (const domain of ['server.example', 'Server.Example', undefined, 'a.example ✓ verified']) {
    t.is(await shown(domain), '@demo@server.example');
  }
  t.is(await shown('server.example', '/~b'), '@demo@server.example (server.example/~b)');
  t.is(await shown(undefined, '/~b'), '@demo@server.example/~b');
});

test('an account id that the database cannot store, or a name that is none, is refused', async (t) => {
  const ids = ['1\u0000', '1\n', '\ud800', ' ', ''].map((id) => ({ id, username: 'ana' }));
  const names = ['', 'a b', 'a@b.example', '[a](https://b.example)', '<b>', 'a\n', '\u202ea'];
  for (const json of [...ids, ...names.map((username) => ({ id: '1', username }))]) {
    const server = await startScriptedServer(t, () => ({ json }));
    const { http } = contextFor(t, [server.url]);
    const error = await t.throwsAsync(
      connectMastodon(http, { baseUrl: server.url, accessToken: 'a' }),
    );
    t.like(error, { code: 'network_unavailable' }, JSON.stringify(json));
  }
});

/** Answers by path of servers that the tests cannot run. The first matching path counts. */
type Answers = Readonly<Record<string, Json | ((asked: Asked, url: string) => Answer)>>;
type Json = { readonly status: number; readonly json: unknown };

const json = (value: unknown, status = 200): Json => ({ status, json: value });
const refused = (error: string) => json({ error }, 401);
const usual: Answers = {
  '/api/v1/apps': ({ body }) => {
    const { client_name: name, website, scopes } = JSON.parse(body);
    return json({ client_id: `${name} ${website} ${scopes}`, client_secret: 'a-secret' });
  },
  '/oauth/token': json({ access_token: 'an-access-token', token_type: 'Bearer', scope: 'read' }),
  '/api/v1/accounts/verify_credentials': json({ id: '7', username: 'alice' }),
  '/api/v2/instance': json({ domain: 'alice.example' }),
};

async function opened(
  t: ExecutionContext,
  told: Answers = {},
  differently: (url: string) => Partial<OauthContext> = () => ({}),
) {
  const answers = { ...told, ...usual, ...told };
  const server = await startScriptedServer(t, (asked) => {
    const [, answer] = Object.entries(answers).find(([path]) => asked.path.endsWith(path)) ?? [];
    return typeof answer === 'function'
      ? answer(asked, server.url)
      : (answer ?? json({ error: 'Not found' }, 404));
  });
  const apps = registeredApps();
  const context = contextFor(t, [server.url], { apps, ...differently(server.url) });
  const oauth = await loaded(t, mastodon({}, []).oauth);
  const begin = (url = server.url) => oauth.begin(beginning(context, { url }));
  const connect = async (parameters: Record<string, string> = {}) => {
    const begun = await begin();
    const answer = new URLSearchParams({ state, code: 'a-code', ...parameters });
    return oauth.finish({ ...context, answer, redirectUri, kept: begun.kept });
  };
  return { server, apps, context, oauth, begin, connect };
}

const metadata: Answers = {
  '/.well-known/oauth-authorization-server': (_asked, url) =>
    json({
      issuer: `${url}/`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    }),
};

test('an app is registered under a name that people see, for the used scopes', async (t) => {
  const { begin, server } = await opened(t);
  const { url } = await begin();
  const scopes = 'read:accounts read:statuses write:statuses write:media';
  const { searchParams } = new URL(url);
  t.is(searchParams.get('client_id'), `Punctual https://punctual.example ${scopes}`);
  t.is(searchParams.get('scope'), scopes);
  t.false(searchParams.has('code_challenge'));
  t.is(server.asked.filter(({ path }) => path === '/api/v1/apps').length, 1);
});

test('the server must ask the person for consent, even after a connection in another workspace', async (t) => {
  const { begin } = await opened(t);
  t.is(new URL((await begin()).url).searchParams.get('force_login'), 'true');
});

test('a server that announces PKCE and issuers gets a challenge, and must name itself in answers', async (t) => {
  const { begin, connect, server } = await opened(t, metadata);
  t.is(new URL((await begin()).url).searchParams.get('code_challenge_method'), 'S256');
  for (const parameters of [{}, { iss: 'https://other.example/' }]) {
    t.like(await t.throwsAsync(connect(parameters)), { name: 'OauthError', code: 'expired' });
  }
  const { accounts } = await connect({ iss: `${server.url}/` });
  const { host } = new URL(server.url);
  t.like(accounts[0], { remoteId: '7', handle: `@alice@alice.example (${host})` });
  const { form } = server.asked.findLast(({ path }) => path === '/oauth/token') ?? {};
  t.regex(form?.get('code_verifier') ?? '', /^[\w\-]{43}$/v);
});

test('an app that the server forgot is registered again', async (t) => {
  const { apps, begin, context, server } = await opened(t, {
    '/oauth/token': ({ form }) =>
      form.get('client_id') === 'forgotten' ? refused('invalid_client') : refused('invalid_grant'),
  });
  const forgotten = { clientId: 'forgotten', clientSecret: 'a-secret' };
  await context.apps.keep(server.url, redirectUri, forgotten);
  const { url } = await begin();
  t.regex(new URL(url).searchParams.get('client_id') ?? '', /^Punctual /v);
  t.is(apps.kept.size, 1);
  t.is((await begin()).url.includes('Punctual'), true);
  t.is(server.asked.filter(({ path }) => path === '/api/v1/apps').length, 1);
});

test('an address without a Mastodon server is reported as unsupported', async (t) => {
  const nothing = await opened(t, { '/api/v1/apps': json({}, 404) });
  t.like(await t.throwsAsync(nothing.begin()), { name: 'OauthError', code: 'unsupported' });
  const page = await opened(t, { '/api/v1/apps': () => (response) => void response.end('<html>') });
  t.like(await t.throwsAsync(page.begin()), { name: 'OauthError', code: 'unsupported' });
  const busy = await opened(t, { '/api/v1/apps': json({}, 503) });
  t.like(await t.throwsAsync(busy.begin()), { name: 'OauthError', code: 'unavailable' });
  const closed = busy.begin('http://127.0.0.1:9');
  t.like(await t.throwsAsync(closed), { name: 'OauthError', code: 'unavailable' });
  for (const none of ['', 'not a server', 'https://a:b@c.example']) {
    const error = await t.throwsAsync(busy.begin(none));
    t.like(error, { name: 'AppError', code: 'invalid_request' });
  }
});

test('people may name their server in different forms', (t) => {
  for (const typed of [
    'mastodon.example',
    ' mastodon.example ',
    '@me@mastodon.example',
    'me@mastodon.example',
    '\u202A@me@mastodon.example\u202C',
    '@me@mastodon.example.',
    '\u200Bmastodon.example',
  ]) {
    t.is(serverNameIn(typed), 'mastodon.example');
  }
  t.is(serverNameIn('https://mastodon.example/@me'), 'https://mastodon.example');
  t.is(serverNameIn('https://me:pass@mastodon.example'), 'https://me:pass@mastodon.example');
});

test('a grant that expires on some servers is renewed with its own app', async (t) => {
  const pair = { access_token: 'newer', refresh_token: 'r2', expires_in: 600 };
  const { connect, context, oauth, server } = await opened(t, {
    '/oauth/token': ({ form }) =>
      form.get('grant_type') === 'refresh_token'
        ? form.get('refresh_token') === 'r1'
          ? json(pair)
          : refused('invalid_client')
        : json({ access_token: 'a', refresh_token: 'r1', expires_in: 600 }),
  });
  const { grant } = await connect();
  const request = { ...context, baseUrl: server.url, remoteId: '7' };
  const renewed = await oauth.refresh({ ...request, grant });
  t.like(renewed, { accessToken: 'newer', refreshToken: 'r2', data: grant.data });
  t.like(Object.fromEntries(server.asked.at(-1)?.form ?? []), { client_secret: 'a-secret' });
  // The server forgot the app and with it the app's grants.
  const lost = oauth.refresh({ ...request, grant: renewed });
  t.like(await t.throwsAsync(lost), { name: 'NetworkError', code: 'access_lost' });
});

test('an account of the sandbox needs no server name', async (t) => {
  const { oauth, context, server } = await opened(t, {}, (url) => ({ sandboxUrl: url }));
  const { url } = await oauth.begin(beginning(context));
  t.true(url.startsWith(`${server.url}/mastodon/oauth/authorize?`));
  t.true(server.asked.some(({ path }) => path === '/mastodon/api/v1/apps'));
});
