import type { ExecutionContext } from 'ava';
import { bluesky } from '../../../networks/bluesky/index.ts';
import type { Account, Connection } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { needs } from '../../support/needs.ts';
import { openConnection } from '../connection.ts';
import { partsOf, publish } from '../publish.ts';
import { connected } from './connected.ts';

const test = needs('pds');

/** A token of the right form that the server never gave. */
const forged = (expiresInSeconds: number): string => {
  const exp = Math.floor(Date.now() / 1000) + expiresInSeconds;
  const json = [{ typ: 'at+jwt', alg: 'HS256' }, { exp }, {}];
  return json.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
};

/** Publishes one post and says how: how often somebody logged in and wrote, and what was kept. */
async function postWith(t: ExecutionContext, account: Account, session: Connection['session']) {
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url, session });
  await publish(bluesky, connection, partsOf('Hi'));
  const calls = (method: string) => proxy.seen.filter(({ path }) => path.endsWith(method)).length;
  const [logins, writes] = [calls('createSession'), calls('applyWrites')];
  return { logins, writes, saved: connection.saved };
}

test('a session is used again, and the one who posts does not log in', async (t) => {
  const { account } = await connected(t);
  t.deepEqual(await postWith(t, account, account.session), { logins: 0, writes: 1, saved: [] });
});

test('without a session one login makes one, kept for the next post', async (t) => {
  const { account } = await connected(t);
  const { logins, saved } = await postWith(t, account, null);
  t.is(logins, 1);
  t.is(saved.length, 1);
  t.deepEqual(await postWith(t, account, saved[0] ?? null), { logins: 0, writes: 1, saved: [] });
});

test('a session keeps the access token and nothing that outlives it', async (t) => {
  const { account } = await connected(t);
  const { saved } = await postWith(t, account, null);
  for (const session of [account.session, ...saved]) {
    t.deepEqual(Object.keys(Object(session)), ['accessJwt']);
    const { accessJwt } = session as { accessJwt: string };
    const claims = JSON.parse(Buffer.from(accessJwt.split('.')[1] ?? '', 'base64url').toString());
    t.is(claims.scope, 'com.atproto.appPass');
  }
});

test('a session at its end is not tried, and renewed by one login', async (t) => {
  const { account } = await connected(t);
  for (const session of [
    { accessJwt: forged(-60) },
    { accessJwt: forged(30) },
    { no: 'session' },
  ]) {
    t.like(await postWith(t, account, session), { logins: 1, writes: 1, saved: { length: 1 } });
  }
});

test('a session that the server refuses is renewed by one login', async (t) => {
  const { account } = await connected(t);
  for (const session of [{ accessJwt: forged(3600) }, { accessJwt: 'garbage' }]) {
    t.like(await postWith(t, account, session), { logins: 1, writes: 2, saved: { length: 1 } });
  }
});

test('after the app password was revoked, access is lost with the next login', async (t) => {
  const { account, person } = await connected(t);
  await person.revokeAppPassword();

  const error = await t.throwsAsync(postWith(t, account, null));
  t.like(error, { name: 'NetworkError', code: 'access_lost', taken: 'no' });
  t.false(error?.message.includes(person.appPassword));
});

test('an account that was taken down has lost access, with and without a session', async (t) => {
  const { account, person } = await connected(t);
  await person.takeDown();
  const withSession = await t.throwsAsync(postWith(t, account, account.session));
  t.like(withSession, { code: 'access_lost', taken: 'no' });
  t.regex(withSession?.message ?? '', /taken down/);
  t.like(await t.throwsAsync(postWith(t, account, null)), { code: 'access_lost', taken: 'no' });
});

test('a handle that went to somebody else does not get the post', async (t) => {
  const { account } = await connected(t);
  const { account: stranger } = await connected(t);
  const { credentials } = stranger;
  const error = await t.throwsAsync(postWith(t, { ...account, credentials }, null));
  t.like(error, { code: 'access_lost', taken: 'no' });
});

test('too many logins are a rate limit, not a lost access', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const resetAtMs = Math.ceil(Date.now() / 1000) * 1000 + 60_000;
  const headers = { 'ratelimit-reset': String(resetAtMs / 1000) };
  proxy.plan(
    { method: 'POST', path: /createSession/ },
    { kind: 'refused', answer: { status: 429, headers } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url, session: null });
  const error = await t.throwsAsync(publish(bluesky, connection, partsOf('Hi')));
  t.like(error, { code: 'rate_limited', taken: 'no', retryAtMs: resetAtMs });
});
