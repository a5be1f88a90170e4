import { RichText } from '@atproto/api';
import type { ExecutionContext } from 'ava';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { bluesky } from '../../../networks/bluesky/adapter.ts';
import { readLimits } from '../../../networks/bluesky/describe-server.ts';
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

/** For tests that end nothing of it, and look at none of its posts but their own. */
const shared = beforeTests(test, connected);

// Connecting.

test('an app password is connected with the account behind it', async (t) => {
  const { baseUrl, handle, did, appPassword } = shared().person;
  const login = { baseUrl: `${baseUrl}/`, identifier: `@${handle}`, appPassword };
  const account = await connectBluesky(egressTo(t, baseUrl), login);

  t.like(account, {
    baseUrl,
    remoteId: did,
    handle,
    credentials: { identifier: did, appPassword },
  });
  // As PDS 0.5.35 comes out of the box.
  t.deepEqual(account.settings, { blobUploadLimit: 5 * 1024 * 1024 });
  t.deepEqual(await readLimits(egressTo(t, baseUrl), baseUrl), account.settings);
});

test('an account is connected by what people paste, with invisible characters and a full stop', async (t) => {
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

test('a post of an account with an app of its own lives in that app', async (t) => {
  const { baseUrl, handle: identifier, did, appPassword } = shared().person;
  const login = { baseUrl, identifier, appPassword, webUrl: 'https://app.example/bluesky/' };
  const account = await connectBluesky(egressTo(t, baseUrl), login);
  const { sent } = await publish(bluesky, openConnection(t, account), partsOf('Hi'));

  const rkey = sent[0]?.remoteId.split('/').at(-1);
  t.is(sent[0]?.url, `https://app.example/bluesky/profile/${did}/post/${rkey}`);
});

test('a wrong password or account is not connected', async (t) => {
  const { baseUrl, handle, appPassword } = shared().person;
  const wrong = [
    { identifier: handle, appPassword: 'abcd-efgh-ijkl-mnop' },
    { identifier: 'nobody-has-this.test', appPassword },
    { identifier: 'not a handle', appPassword },
    { identifier: '', appPassword },
  ];
  for (const login of wrong) {
    const error = await t.throwsAsync(connectBluesky(egressTo(t, baseUrl), { baseUrl, ...login }));
    t.like(error, { code: 'access_lost', taken: 'no' });
    t.false(error?.message.includes(login.appPassword));
  }
});

needs('gotosocial', 'pds')('an address without a PDS is not connected', async (t) => {
  const addresses = [env('PUNCTUAL_TEST_GOTOSOCIAL_URL'), `http://127.0.0.1:${await freePort()}`];
  for (const baseUrl of addresses) {
    const login = { baseUrl, identifier: 'a.test', appPassword: 'any' };
    const attempt = connectBluesky(egressTo(t, baseUrl), login);
    t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'no' });
  }
});

// Sessions.

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
  const { account } = shared();
  t.deepEqual(await postWith(t, account, account.session), { logins: 0, writes: 1, saved: [] });
});

test('without a session one login makes one, kept for the next post', async (t) => {
  const { account } = shared();
  const { logins, saved } = await postWith(t, account, null);
  t.is(logins, 1);
  t.is(saved.length, 1);
  t.deepEqual(await postWith(t, account, saved[0] ?? null), { logins: 0, writes: 1, saved: [] });
});

test('a session keeps the access token and nothing that outlives it', async (t) => {
  const { account } = shared();
  const { saved } = await postWith(t, account, null);
  for (const session of [account.session, ...saved]) {
    t.deepEqual(Object.keys(Object(session)), ['accessJwt']);
    const { accessJwt } = session as { accessJwt: string };
    const claims = JSON.parse(Buffer.from(accessJwt.split('.')[1] ?? '', 'base64url').toString());
    t.is(claims.scope, 'com.atproto.appPass');
  }
});

test('a session at its end is not tried, and renewed by one login', async (t) => {
  const { account } = shared();
  for (const session of [
    { accessJwt: forged(-60) },
    { accessJwt: forged(30) },
    { no: 'session' },
  ]) {
    t.like(await postWith(t, account, session), { logins: 1, writes: 1, saved: { length: 1 } });
  }
});

test('a session that the server refuses is renewed by one login', async (t) => {
  const { account } = shared();
  for (const session of [{ accessJwt: forged(3600) }, { accessJwt: 'garbage' }]) {
    t.like(await postWith(t, account, session), { logins: 1, writes: 2, saved: { length: 1 } });
  }
});

test('forty posts that find the same session ended log in once', async (t) => {
  const { account } = shared();
  for (const session of [{ accessJwt: forged(-60) }, { accessJwt: forged(3600) }]) {
    const proxy = await lossyProxy(t, account.baseUrl);
    const http = egressTo(t, proxy.url);
    const open = () => openConnection(t, account, { baseUrl: proxy.url, session, http });
    const texts = Array.from({ length: 40 }, (_, index) => `Post ${index}`);
    await Promise.all(texts.map((text) => publish(bluesky, open(), partsOf(text))));
    await publish(bluesky, open(), partsOf('One that had read the old session before'));
    const logins = proxy.seen.filter(({ path }) => path.endsWith('createSession'));
    t.is(logins.length, 1);
  }
});

test('a token of a megabyte, which no honest server gives, is not kept', async (t) => {
  const { account } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  const body = JSON.stringify({
    did: account.remoteId,
    handle: 'a.test',
    accessJwt: `${forged(3600)}${'x'.repeat(1_000_000)}`,
  });
  proxy.plan(
    { method: 'POST', path: /createSession/ },
    { kind: 'refused', answer: { status: 200, body } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url, session: null });
  await t.throwsAsync(publish(bluesky, connection, partsOf('Hi')), { name: 'NetworkError' });
  t.deepEqual(connection.saved, []);
});

test('a login that failed is made again by the next post', async (t) => {
  const { account } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  const http = egressTo(t, proxy.url);
  const post = () =>
    publish(
      bluesky,
      openConnection(t, account, { baseUrl: proxy.url, session: null, http }),
      partsOf('Hi'),
    );
  proxy.plan(
    { method: 'POST', path: /createSession/ },
    { kind: 'refused', answer: { status: 503 } },
  );
  await t.throwsAsync(post(), { code: 'network_unavailable' });
  t.is((await post()).sent.length, 1);
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
  const { account } = shared();
  const { account: stranger } = await connected(t);
  const { credentials } = stranger;
  const error = await t.throwsAsync(postWith(t, { ...account, credentials }, null));
  t.like(error, { code: 'access_lost', taken: 'no' });
});

test('too many logins are a rate limit, not a lost access', async (t) => {
  const { account } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  const resetAtMs = Math.ceil(Date.now() / 1000) * 1000 + 300_000;
  const headers = { 'ratelimit-reset': String(resetAtMs / 1000) };
  proxy.plan(
    { method: 'POST', path: /createSession/ },
    { kind: 'refused', answer: { status: 429, headers } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url, session: null });
  const error = await t.throwsAsync(publish(bluesky, connection, partsOf('Hi')));
  t.like(error, { code: 'rate_limited', taken: 'no', retryAtMs: resetAtMs });
});

// What can be followed in a text: handles, links and tags.

test('links, mentions and tags of a post can be followed, also behind an emoji', async (t) => {
  const { records, connection } = await connected(t);
  const friend = shared().person;
  const text = `👩‍👩‍👧‍👦 hé @${friend.handle} see https://example.com/x?y=1. And example.org #tag`;
  await publish(bluesky, connection, partsOf(text));

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

test('a handle of nobody and a link to nowhere stay plain text', async (t) => {
  const { records, connection } = await connected(t);
  const text = 'Hi @nobody-has-this.test and @nobody.example.com, see https:// and https://[';
  await publish(bluesky, connection, partsOf(text));

  const [post] = await records();
  t.like(post?.record, { text, facets: undefined });
});

test('a thread asks for each handle once', async (t) => {
  const { account, person } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = partsOf(`@${person.handle} one`, `@${person.handle} two`);
  await bluesky.prepare(connection, parts, Date.now());
  t.is(proxy.seen.length, 1);
});

test('while handles cannot be resolved, the post waits instead of losing its mention', async (t) => {
  const { account, person } = shared();
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan(
    { method: 'GET', path: /resolveHandle/ },
    { kind: 'refused', answer: { status: 503 } },
  );
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = bluesky.prepare(connection, partsOf(`Hi @${person.handle}`), Date.now());
  t.like(await t.throwsAsync(attempt), { code: 'network_unavailable', taken: 'no' });
});
