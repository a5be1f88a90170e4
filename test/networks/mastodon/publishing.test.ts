import type { ExecutionContext } from 'ava';
import { createRestAPIClient } from 'masto';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodon } from '../../../networks/mastodon/entry.ts';
import { freePort } from '../../../scripts/ports.ts';
import { defaultScopes, mastodonAccount } from '../../support/accounts.ts';
import { openBrowser } from '../../support/browser.ts';
import { env } from '../../support/env.ts';
import { takeGoToSocialAccount } from '../../support/gotosocial-accounts.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { animation } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { fileOf, pictureFile, playableVideo } from '../files.ts';
import { loaded } from '../oauth/connect-by.ts';
import { beginning, contextFor, redirectUri, registeredApps, state } from '../oauth/context.ts';
import { nextStep, partsOf, partsWith, publish } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import { bench, connected } from './bench.ts';

const test = needs('gotosocial');

passesAsNetwork(test, bench);

// Connecting.

test("a token connects its account, with the server's limits", async (t) => {
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

test('an invalid token does not connect', async (t) => {
  const baseUrl = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  for (const accessToken of ['wrong', 'not a token', '']) {
    const attempt = connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
    t.like(await t.throwsAsync(attempt), { code: 'access_lost' });
  }
});

test('a token that may only read lacks the permission to post', async (t) => {
  const { connection } = await connected(t, 'read:accounts read:statuses');
  const attempt = publish(mastodonNetwork, connection, partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'permission_missing', accepted: 'no' });
});

needs('gotosocial', 'pds')('an address without a Mastodon API does not connect', async (t) => {
  const addresses = [env('PUNCTUAL_TEST_PDS_URL'), `http://127.0.0.1:${await freePort()}`];
  for (const baseUrl of addresses) {
    const attempt = connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken: 'any' });
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', accepted: 'no' });
  }
});

// Files.

const uploads = { method: 'POST', path: /\/api\/v2\/media$/ };
const pollRequest = { method: 'GET', path: /\/api\/v1\/media\// };

/** An account whose server is behind a proxy that can fail. */
async function behindProxy(t: ExecutionContext, scopes = defaultScopes) {
  const { client, account } = await connected(t, scopes);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const statuses = () => client.v1.accounts.$select(account.remoteId).statuses.list();
  return { proxy, connection, statuses };
}

test('a video and an animation are live, the first as a video', async (t) => {
  const { connection, statuses } = await behindProxy(t);
  const gif = fileOf(await animation('gif', [100, 100]), { name: 'a.gif', type: 'image/gif' });
  await publish(mastodonNetwork, connection, partsWith([await playableVideo()], 'A video'));
  await publish(mastodonNetwork, connection, partsWith([gif], ''));

  const attachments = (await statuses()).map(({ mediaAttachments }) => mediaAttachments);
  t.deepEqual(
    attachments.map((files) => files.map(({ type }) => type)),
    [['image'], ['video']],
  );
  t.like(attachments[1]?.[0]?.meta?.original, { width: 64, height: 48 });
});

test("a file's name in the library is not sent", async (t) => {
  const { proxy, connection } = await behindProxy(t);
  await publish(
    mastodonNetwork,
    connection,
    partsWith([await pictureFile('for "Ms. Private".png')], 'Hi'),
  );

  const sent = proxy.seen.find(({ path }) => path === '/api/v2/media');
  t.false(sent?.body.includes('Private'));
  t.regex(sent?.body ?? '', /name="file"; filename="file\.png"\r\nContent-Type: image\/png\r\n/);
});

test('the adapter waits for a server that processes a file', async (t) => {
  const { proxy, connection, statuses } = await behindProxy(t);
  const file = await pictureFile();
  // The server is too fast for this test, so the proxy answers: 202 to the upload, 206 to two polls, then 200.
  const working = (status: number) =>
    ({ kind: 'refused', answer: { status, body: '{"id":"placeholder","url":null}' } }) as const;
  proxy.plan(pollRequest, working(206));
  proxy.plan(pollRequest, working(206));
  proxy.plan(pollRequest, working(200));
  proxy.plan(uploads, working(202));
  const prepared = await mastodonNetwork.prepare(
    connection,
    partsWith([file], 'Patience'),
    Date.now(),
  );
  const ids = await mastodonNetwork.upload(connection, nextStep(mastodonNetwork, prepared, []));

  t.deepEqual(ids, ['placeholder']);
  t.is(proxy.seen.filter(({ path }) => path === '/api/v1/media/placeholder').length, 3);
  t.deepEqual(await statuses(), []);
});

test("a file that the server cannot process is refused with its name and the server's message", async (t) => {
  const { proxy, connection, statuses } = await behindProxy(t);
  const noPicture = fileOf(Buffer.from('no picture '.repeat(30)), { name: 'notes.png' });
  const attempt = publish(mastodonNetwork, connection, partsWith([noPicture], 'Hi'));
  const error = await t.throwsAsync(attempt);
  t.like(error, { name: 'NetworkError', code: 'media_refused', accepted: 'no' });
  t.regex(error?.message ?? '', /refused the file "notes\.png" \(HTTP 422\): ".+"/);

  proxy.plan(uploads, { kind: 'refused', answer: { status: 202, body: '{"id":"1"}' } });
  proxy.plan(pollRequest, { kind: 'refused', answer: { status: 422, body: '{"error":"Broken"}' } });
  const late = publish(mastodonNetwork, connection, partsWith([await pictureFile()], 'Hi'));
  t.like(await t.throwsAsync(late), { code: 'media_refused', accepted: 'no' });
  t.deepEqual(await statuses(), []);
});

test('a token that may not upload files lacks the permission', async (t) => {
  const { connection, statuses } = await behindProxy(
    t,
    'read:accounts read:statuses write:statuses',
  );
  const attempt = publish(mastodonNetwork, connection, partsWith([await pictureFile()], 'Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'permission_missing', accepted: 'no' });
  t.deepEqual(await statuses(), []);
});

test('every upload failure means that the post was certainly not published', async (t) => {
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
    const attempt = publish(mastodonNetwork, connection, parts);
    t.like(await t.throwsAsync(attempt), { code, accepted: 'no' }, String(answer.status));
  }
  t.deepEqual(await statuses(), []);
});

async function opened(t: ExecutionContext) {
  const url = env('PUNCTUAL_TEST_GOTOSOCIAL_URL');
  const apps = registeredApps();
  const context = contextFor(t, [url], { apps });
  const oauth = await loaded(t, mastodon({}, []).oauth);
  const begin = () => oauth.begin(beginning(context, { url }));
  return { url, apps, context, oauth, begin };
}

/** Signs in and allows access, as an account's owner does. @returns the parameters of the callback. */
async function allow(link: string) {
  const { email, password, username } = await takeGoToSocialAccount();
  const browser = openBrowser(redirectUri);
  const signIn = await browser.open(link);
  const asked = await browser.press(signIn, 'Sign in', { username: email, password });
  const { url } = await browser.press(asked, 'Allow');
  return { username, asked: asked.text, answer: new URL(url).searchParams };
}

test('an account connects on its server, and its token publishes', async (t) => {
  const { url, context, oauth, begin } = await opened(t);
  const begun = await begin();
  const { username, asked, answer } = await allow(begun.url);
  t.regex(asked, /Application Punctual would like to perform actions on your behalf/v);
  const finish = { ...context, answer, redirectUri, kept: begun.kept };
  const { grant, accounts } = await oauth.finish(finish);
  t.like(grant, { accessEndsAtMs: null, refreshToken: null, endsAtMs: null });
  t.is(accounts.length, 1);
  const host = new URL(url).host;
  t.like(accounts[0], { baseUrl: url, handle: `@${username}@${host}`, credentials: {} });
  const client = createRestAPIClient({ url, accessToken: grant.accessToken });
  const { account } = await client.v1.statuses.create({ status: 'Connected' });
  t.is(accounts[0]?.remoteId, account.id);

  const { check } = mastodon({}, []);
  const connection = { ...context, baseUrl: url, remoteId: '', session: null, settings: {} };
  const checked = async (accessToken: string) =>
    check?.({ ...connection, credentials: { accessToken } });
  const owner = { remoteId: account.id, displayName: username };
  t.deepEqual(await checked(grant.accessToken), owner);
  t.like(await t.throwsAsync(checked('nobodys')), { code: 'access_lost' });

  // The code works only once.
  const again = await t.throwsAsync(oauth.finish(finish));
  t.is(again?.name, 'OauthError');
});

test('a callback with another state connects nothing', async (t) => {
  const { context, oauth, begin } = await opened(t);
  const { kept } = await begin();
  const answer = new URLSearchParams({ state: `${state}x`, code: 'a-code' });
  const finished = oauth.finish({ ...context, answer, redirectUri, kept });
  t.like(await t.throwsAsync(finished), { name: 'OauthError', code: 'expired' });
});
