import type { ExecutionContext } from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodon } from '../../../networks/mastodon/adapter.ts';
import { rules } from '../../../networks/mastodon/rules.ts';
import { defaultScopes, mastodonAccount } from '../../support/accounts.ts';
import { env } from '../../support/env.ts';
import { freePort } from '../../../scripts/ports.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { animation } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { against, filesOf, image, textOf, times, video } from '../content.ts';
import { fileOf, pictureFile, playableVideo } from '../files.ts';
import { nextStep, partsWith, publish } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench, connected } from './bench.ts';

const test = needs('gotosocial');

passesAsNetwork(test, bench);

// Connecting.

test('a token is connected with the account behind it and the limits of its server', async (t) => {
  const { baseUrl, accessToken, username, client } = await mastodonAccount();
  const login = { baseUrl: `${baseUrl}/`, accessToken: ` ${accessToken}\n` };
  const account = await connectMastodon(egressTo(t, baseUrl), login);

  const { id } = await client.v1.accounts.verifyCredentials();
  const { configuration } = await client.v2.instance.fetch();
  const typesOfServer = configuration.mediaAttachments.supportedMimeTypes;
  t.true(typesOfServer.includes('image/jpeg') && typesOfServer.includes('audio/mpeg'));
  t.deepEqual(account, {
    baseUrl,
    remoteId: id,
    handle: `@${username}@${new URL(baseUrl).host}`,
    displayName: username,
    credentials: { accessToken },
    session: null,
    settings: {
      maxCharacters: 5000,
      charactersReservedPerUrl: 25,
      maxMediaAttachments: 6,
      mediaTypes: typesOfServer.filter((type) => !type.startsWith('audio/')),
      maxImageBytes: 40 * 1024 * 1024,
      maxImagePixels: 2_147_483_647,
      maxVideoBytes: 40 * 1024 * 1024,
      maxVideoPixels: 2_147_483_647,
      maxVideoFrameRate: 2_147_483_647,
      maxDescription: 1500,
    },
  });
});

test('what a connected server says of its limits is what its posts are validated by', async (t) => {
  const { settings } = (await connected(t)).account;
  const server = against(rules, JSON.parse(JSON.stringify(settings)));

  server.takes(t, textOf('x'.repeat(5000)));
  server.takes(t, filesOf(...times(6, image({ sizeBytes: 40 * 1024 * 1024 }))));
  server.takes(t, filesOf(video({ type: 'video/matroska' })));
  for (const refused of [
    textOf('x'.repeat(5001)),
    filesOf(...times(7, image())),
    filesOf(video({ sizeBytes: 40 * 1024 * 1024 + 1 })),
    filesOf(image({ type: 'image/avif' })),
  ]) {
    t.is(rules.validate(refused, settings).errors.length, 1);
  }
});

test('a token that nobody granted is not connected', async (t) => {
  const baseUrl = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  for (const accessToken of ['wrong', 'not a token', '']) {
    const attempt = connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
    t.like(await t.throwsAsync(attempt), { code: 'access_lost' });
  }
});

needs('gotosocial', 'pds')('an address without a Mastodon API is not connected', async (t) => {
  const addresses = [env('PUNCTUAL_TEST_PDS_URL'), `http://127.0.0.1:${await freePort()}`];
  for (const baseUrl of addresses) {
    const attempt = connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken: 'any' });
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'no' });
  }
});

// Files.

const uploads = { method: 'POST', path: /\/api\/v2\/media$/ };
const looks = { method: 'GET', path: /\/api\/v1\/media\// };

/** An account whose server is reached through a line that can be broken. */
async function behindProxy(t: ExecutionContext, scopes = defaultScopes) {
  const { client, account } = await connected(t, scopes);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const statuses = () => client.v1.accounts.$select(account.remoteId).statuses.list();
  return { proxy, connection, statuses };
}

test('a video and an animation are live, the one as a video', async (t) => {
  const { connection, statuses } = await behindProxy(t);
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
  const { proxy, connection } = await behindProxy(t);
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
  const { proxy, connection, statuses } = await behindProxy(t);
  const file = await pictureFile();
  // The server is quick; the line makes it look as if it were not. It names the file only in its last answer.
  const working = (status: number) =>
    ({ kind: 'refused', answer: { status, body: '{"id":"placeholder","url":null}' } }) as const;
  proxy.plan(looks, working(206));
  proxy.plan(looks, working(206));
  proxy.plan(looks, working(200));
  proxy.plan(uploads, working(202));
  const prepared = await mastodon.prepare(connection, partsWith([file], 'Patience'), Date.now());
  const ids = await mastodon.upload(connection, nextStep(mastodon, prepared, []));

  t.deepEqual(ids, ['placeholder']);
  t.is(proxy.seen.filter(({ path }) => path === '/api/v1/media/placeholder').length, 3);
  t.deepEqual(await statuses(), []);
});

test('a file that the server cannot work with is refused with its name and the words of the server', async (t) => {
  const { proxy, connection, statuses } = await behindProxy(t);
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
  const { connection, statuses } = await behindProxy(t);
  const noPicture = fileOf(Buffer.from('no picture '.repeat(30)), { name: 'notes.png' });
  const files = [await pictureFile(), noPicture];
  const attempt = publish(mastodon, connection, partsWith(files, 'Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'media_refused' });
  t.deepEqual(await statuses(), []);
});

test('a token that may not bring files lacks the permission', async (t) => {
  const { connection, statuses } = await behindProxy(
    t,
    'read:accounts read:statuses write:statuses',
  );
  const attempt = publish(mastodon, connection, partsWith([await pictureFile()], 'Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'permission_missing', taken: 'no' });
  t.deepEqual(await statuses(), []);
});

test('each way in which an upload can fail leaves no doubt about the post', async (t) => {
  const { proxy, connection, statuses } = await behindProxy(t);
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
