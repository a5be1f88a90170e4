import { RichText } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { connectBluesky, readLimits } from '../../../networks/bluesky/connect.ts';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { preparedPostOf } from '../../../networks/bluesky/thread.ts';
import type { Account, Connection } from '../../../networks/network.ts';
import { env } from '../../support/env.ts';
import { freePort } from '../../../scripts/ports.ts';
import { beforeTests } from '../../support/kit.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { partsOf, publish } from '../publish.ts';
import { connected } from './bench.ts';

const test = needs('pds');

/** For tests that do not end its sessions or read posts of others. */
const shared = beforeTests(test, connected);

// Connecting.

test('an app password connects its account', async (t) => {
  const { baseUrl, handle, did, appPassword } = shared().person;
  const login = { baseUrl: `${baseUrl}/`, identifier: `@${handle}`, appPassword };
  const account = await connectBluesky(egressTo(t, baseUrl), login);

  t.like(account, {
    baseUrl,
    remoteId: did,
    handle,
    credentials: { identifier: did, appPassword },
  });
  // The default of PDS 0.5.35.
  t.deepEqual(account.settings, { blobUploadLimit: 5 * 1024 * 1024 });
  t.deepEqual(await readLimits(egressTo(t, baseUrl), baseUrl), account.settings);
});

test('an account connects by the identifiers that people paste, with invisible characters and a full stop', async (t) => {
  const { baseUrl, handle, did, appPassword } = shared().person;
  for (const identifier of [
    `\u202A@${handle}\u202C`,
    `\u2068${handle}\u2069`,
    `\u200B${handle}.`,
    `${did}\u200E`,
  ]) {
    const login = {
      baseUrl: `\u202A${baseUrl}\u202C`,
      identifier,
      appPassword: `\u2060${appPassword}\u200E`,
    };
    t.like(await connectBluesky(egressTo(t, baseUrl), login), {
      baseUrl,
      remoteId: did,
      credentials: { identifier: did, appPassword },
    });
  }
});

test('a post of an account with its own app has its URL in that app', async (t) => {
  const { baseUrl, handle: identifier, did, appPassword } = shared().person;
  const login = { baseUrl, identifier, appPassword, webUrl: 'https://app.example/bluesky/' };
  const account = await connectBluesky(egressTo(t, baseUrl), login);
  const { sent } = await publish(blueskyNetwork, openConnection(t, account), partsOf('Hi'));

  const rkey = sent[0]?.remoteId.split('/').at(-1);
  t.is(sent[0]?.url, `https://app.example/bluesky/profile/${did}/post/${rkey}`);
});

test('a wrong password or account does not connect', async (t) => {
  const { baseUrl, handle, appPassword } = shared().person;
  const wrong = [
    { identifier: handle, appPassword: 'abcd-efgh-ijkl-mnop' },
    { identifier: 'nobody-has-this.test', appPassword },
    { identifier: 'not a handle', appPassword },
    { identifier: '', appPassword },
  ];
  for (const login of wrong) {
    const error = await t.throwsAsync(connectBluesky(egressTo(t, baseUrl), { baseUrl, ...login }));
    t.like(error, { code: 'access_lost', accepted: 'no' });
    t.false(error?.message.includes(login.appPassword));
  }
});

needs('gotosocial', 'pds')('an address without a PDS does not connect', async (t) => {
  const addresses = [env('PUNCTUAL_TEST_GOTOSOCIAL_URL'), `http://127.0.0.1:${await freePort()}`];
  for (const baseUrl of addresses) {
    const login = { baseUrl, identifier: 'a.test', appPassword: 'any' };
    const attempt = connectBluesky(egressTo(t, baseUrl), login);
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', accepted: 'no' });
  }
});

// Sessions.

/** A well-formed token that the server never issued. */
const forged = (expiresInSeconds: number): string => {
  const exp = Math.floor(Date.now() / 1000) + expiresInSeconds;
  const json = [{ typ: 'at+jwt', alg: 'HS256' }, { exp }, {}];
  return json.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
};

/** Publishes one post. Returns the number of logins and writes, and the saved session. */
async function postWith(t: ExecutionContext, account: Account, session: Connection['session']) {
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url, session });
  await publish(blueskyNetwork, connection, partsOf('Hi'));
  const calls = (method: string) => proxy.seen.filter(({ path }) => path.endsWith(method)).length;
  const [logins, writes] = [calls('createSession'), calls('applyWrites')];
  return { logins, writes, saved: connection.saved };
}

test('a stored session is used again, without a login', async (t) => {
  const { account } = shared();
  t.deepEqual(await postWith(t, account, account.session), { logins: 0, writes: 1, saved: [] });
});

test('without a session, one login creates one, which is stored for the next post', async (t) => {
  const { account } = shared();
  const { logins, saved } = await postWith(t, account, null);
  t.is(logins, 1);
  t.is(saved.length, 1);
  t.deepEqual(await postWith(t, account, saved[0] ?? null), { logins: 0, writes: 1, saved: [] });
});

test('a session stores the access token, and no secret with a longer life', async (t) => {
  const { account } = shared();
  const { saved } = await postWith(t, account, null);
  for (const session of [account.session, ...saved]) {
    t.deepEqual(Object.keys(Object(session)), ['accessJwt']);
    const { accessJwt } = session as { accessJwt: string };
    const claims = JSON.parse(Buffer.from(accessJwt.split('.')[1] ?? '', 'base64url').toString());
    t.is(claims.scope, 'com.atproto.appPass');
  }
});

test('an expired session is not used, and one login renews it', async (t) => {
  const { account } = shared();
  for (const session of [
    { accessJwt: forged(-60) },
    { accessJwt: forged(30) },
    { no: 'session' },
  ]) {
    t.like(await postWith(t, account, session), { logins: 1, writes: 1, saved: { length: 1 } });
  }
});

test('one login renews a session that the server refuses', async (t) => {
  const { account } = shared();
  for (const session of [{ accessJwt: forged(3600) }, { accessJwt: 'garbage' }]) {
    t.like(await postWith(t, account, session), { logins: 1, writes: 2, saved: { length: 1 } });
  }
});

test('after the app password is revoked, the next login loses access', async (t) => {
  const { account, person } = await connected(t);
  await person.revokeAppPassword();

  const error = await t.throwsAsync(postWith(t, account, null));
  t.like(error, { name: 'NetworkError', code: 'access_lost', accepted: 'no' });
  t.false(error?.message.includes(person.appPassword));
});

test('a suspended account has lost access, with and without a session', async (t) => {
  const { account, person } = await connected(t);
  await person.takeDown();
  const withSession = await t.throwsAsync(postWith(t, account, account.session));
  t.like(withSession, { code: 'access_lost', accepted: 'no' });
  t.regex(withSession?.message ?? '', /taken down/);
  t.like(await t.throwsAsync(postWith(t, account, null)), { code: 'access_lost', accepted: 'no' });
});

test('a handle that now belongs to another account does not get the post', async (t) => {
  const { account } = shared();
  const { account: stranger } = await connected(t);
  const { credentials } = stranger;
  const error = await t.throwsAsync(postWith(t, { ...account, credentials }, null));
  t.like(error, { code: 'access_lost', accepted: 'no' });
});

test('too many logins are a rate limit, not lost access', async (t) => {
  const { account } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  const resetAtMs = Math.ceil(Date.now() / 1000) * 1000 + 300_000;
  const headers = { 'ratelimit-reset': String(resetAtMs / 1000) };
  proxy.plan(
    { method: 'POST', path: /createSession/ },
    { kind: 'refused', answer: { status: 429, headers } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url, session: null });
  const error = await t.throwsAsync(publish(blueskyNetwork, connection, partsOf('Hi')));
  t.like(error, { code: 'rate_limited', accepted: 'no', retryAtMs: resetAtMs });
});

// Links in a text: handles, URLs and tags.

test('URLs, mentions and tags of a post become links, also after an emoji', async (t) => {
  const { records, connection } = await connected(t);
  const friend = shared().person;
  const text = `👩‍👩‍👧‍👦 hé @${friend.handle} see https://example.com/x?y=1. And example.org #tag`;
  await publish(blueskyNetwork, connection, partsOf(text));

  const [post] = await records();
  const { facets = [] } = post?.record ?? {};
  const segments = [...new RichText({ text, facets }).segments()].filter(({ facet }) => facet);
  t.like(segments, [
    { text: `@${friend.handle}`, mention: { did: friend.did } },
    { text: 'https://example.com/x?y=1', link: { uri: 'https://example.com/x?y=1' } },
    { text: 'example.org', link: { uri: 'https://example.org' } },
    { text: '#tag', tag: { tag: 'tag' } },
  ]);
});

test('an unknown handle and an invalid URL stay plain text', async (t) => {
  const { records, connection } = await connected(t);
  const text = 'Hi @nobody-has-this.test and @nobody.example.com, see https:// and https://[';
  await publish(blueskyNetwork, connection, partsOf(text));

  const [post] = await records();
  t.like(post?.record, { text, facets: undefined });
});

test('while handles cannot be resolved, the post waits and keeps its mention', async (t) => {
  const { account, person } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan(
    { method: 'GET', path: /resolveHandle/ },
    { kind: 'refused', answer: { status: 503 } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = blueskyNetwork.prepare(connection, partsOf(`Hi @${person.handle}`), Date.now());
  t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', accepted: 'no' });
});

test('handles that resolve slowly delay a thread by five seconds, and a late one goes out without them', async (t) => {
  const { account, person } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  for (const path of [/=a\.ex/v, /=a\.ex/v, /=b\.ex/v, /=b\.ex/v, /=c\.ex/v, /=c\.ex/v]) {
    proxy.plan({ method: 'GET', path }, { kind: 'held', onReceived: () => undefined });
  }
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = partsOf(`@a.example.com @b.example.com @${person.handle}`, '@c.example.com');
  const dueAtMs = Date.now();
  const due = parts.map((part) => Object.assign(part, { dueAtMs }));
  const prepare = (afterMs: number) => blueskyNetwork.prepare(connection, due, dueAtMs + afterMs);
  const [early, late] = await Promise.allSettled([prepare(0), prepare(90_000)]);
  t.true(Date.now() - dueAtMs < 15_000);
  const reason = { code: 'network_unavailable', accepted: 'no', server: undefined };
  t.like(early, { status: 'rejected', reason }, 'tried again, without a pause for others');
  const [first, second] = late.status === 'fulfilled' ? late.value.map(preparedPostOf) : [];
  t.regex(first?.warnings?.[0] ?? '', /not resolve @a\.example\.com, .*@c\.example\.com in time/v);
  t.like(first?.record, { facets: { length: 1 } });
  t.like(second, { warnings: [], record: { facets: undefined } });
});
