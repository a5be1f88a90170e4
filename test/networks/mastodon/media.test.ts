import type { ExecutionContext } from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodon } from '../../../networks/mastodon/index.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { defaultScopes, mastodonAccount } from '../../support/accounts.ts';
import { animation } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { fileOf, pictureFile, playableVideo } from '../files.ts';
import { nextStep, partsWith, publish } from '../publish.ts';

const test = needs('gotosocial');

const uploads = { method: 'POST', path: /\/api\/v2\/media$/ };
const looks = { method: 'GET', path: /\/api\/v1\/media\// };

async function connected(t: ExecutionContext, scopes = defaultScopes) {
  const { baseUrl, accessToken, client } = await mastodonAccount(scopes);
  const account = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
  const proxy = await lossyProxy(t, baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const statuses = () => client.v1.accounts.$select(account.remoteId).statuses.list();
  return { proxy, connection, statuses };
}

test('a video and an animation are live, the one as a video', async (t) => {
  const { connection, statuses } = await connected(t);
  const gif = fileOf(await animation('gif', [100, 100]), { name: 'a.gif', type: 'image/gif' });
  await publish(mastodon, connection, partsWith([await playableVideo()], 'A video'));
  await publish(mastodon, connection, partsWith([gif], ''));

  const attachments = (await statuses()).map(({ mediaAttachments }) => mediaAttachments);
  t.deepEqual(
    attachments.map((files) => files.map(({ type }) => type)),
    [['image'], ['video']],
  );
  t.like(attachments[1]?.[0]?.meta?.original, { width: 64, height: 48 });
});

test('the name that a file has in the library stays there', async (t) => {
  const { proxy, connection } = await connected(t);
  await publish(
    mastodon,
    connection,
    partsWith([await pictureFile('for "Ms. Private".png')], 'Hi'),
  );

  const sent = proxy.seen.find(({ path }) => path === '/api/v2/media');
  t.false(sent?.body.includes('Private'));
  t.regex(sent?.body ?? '', /name="file"; filename="file\.png"\r\nContent-Type: image\/png\r\n/);
});

test('a server that works on a file for a while is waited for', async (t) => {
  const { proxy, connection, statuses } = await connected(t);
  const file = await pictureFile();
  // The server is quick; the line makes it look as if it were not. It names the file only in its last answer.
  const working = (status: number) =>
    ({ kind: 'refused', answer: { status, body: '{"id":"placeholder","url":null}' } }) as const;
  proxy.plan(looks, working(206));
  proxy.plan(looks, working(206));
  proxy.plan(looks, working(200));
  proxy.plan(uploads, working(202));
  const frozen = await mastodon.freeze(connection, partsWith([file], 'Patience'), Date.now());
  const ids = await mastodon.upload(connection, nextStep(mastodon, frozen, []));

  t.deepEqual(ids, ['placeholder']);
  t.is(proxy.seen.filter(({ path }) => path === '/api/v1/media/placeholder').length, 3);
  t.deepEqual(await statuses(), []);
});

test('a file that the server cannot work with is refused with its name and the words of the server', async (t) => {
  const { proxy, connection, statuses } = await connected(t);
  const noPicture = fileOf(Buffer.from('no picture '.repeat(30)), { name: 'notes.png' });
  const attempt = publish(mastodon, connection, partsWith([noPicture], 'Hi'));
  const error = await t.throwsAsync(attempt);
  t.like(error, { name: 'NetworkError', code: 'media_refused', taken: 'no' });
  t.regex(error?.message ?? '', /refused the file "notes\.png" \(HTTP 422\): ".+"/);

  proxy.plan(uploads, { kind: 'refused', answer: { status: 202, body: '{"id":"1"}' } });
  proxy.plan(looks, { kind: 'refused', answer: { status: 422, body: '{"error":"Broken"}' } });
  const late = publish(mastodon, connection, partsWith([await pictureFile()], 'Hi'));
  t.like(await t.throwsAsync(late), { code: 'media_refused', taken: 'no' });
  t.deepEqual(await statuses(), []);
});

test('of several files one that is refused keeps the post back', async (t) => {
  const { connection, statuses } = await connected(t);
  const noPicture = fileOf(Buffer.from('no picture '.repeat(30)), { name: 'notes.png' });
  const files = [await pictureFile(), noPicture];
  const attempt = publish(mastodon, connection, partsWith(files, 'Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'media_refused' });
  t.deepEqual(await statuses(), []);
});

test('a token that may not bring files lacks the permission', async (t) => {
  const { connection, statuses } = await connected(t, 'read:accounts read:statuses write:statuses');
  const attempt = publish(mastodon, connection, partsWith([await pictureFile()], 'Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'permission_missing', taken: 'no' });
  t.deepEqual(await statuses(), []);
});

test('each way in which an upload can fail leaves no doubt about the post', async (t) => {
  const { proxy, connection, statuses } = await connected(t);
  const parts = partsWith([await pictureFile()], 'Hi');
  for (const [answer, code] of [
    [{ status: 429, headers: { 'retry-after': '60' } }, 'rate_limited'],
    [{ status: 401, body: '{"error":"revoked"}' }, 'access_lost'],
    [{ status: 413 }, 'media_refused'],
    [{ status: 404 }, 'network_unavailable'],
    [{ status: 503 }, 'network_unavailable'],
    [{ status: 200, body: '<html>' }, 'network_unavailable'],
  ] as const) {
    proxy.plan(uploads, { kind: 'refused', answer });
    const attempt = publish(mastodon, connection, parts);
    t.like(await t.throwsAsync(attempt), { code, taken: 'no' }, String(answer.status));
  }
  t.deepEqual(await statuses(), []);
});
