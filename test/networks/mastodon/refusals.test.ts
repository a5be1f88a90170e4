import type { ExecutionContext } from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodon } from '../../../networks/mastodon/index.ts';
import { NetworkError } from '../../../networks/network.ts';
import { lossyProxy, type Answer } from '../../support/lossy-proxy.ts';
import { defaultScopes, mastodonAccount } from '../../support/accounts.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { nextStep, partsOf, publish, sendStep } from '../publish.ts';
import { removeStatus } from './remove-status.ts';

const test = needs('gotosocial');

const creates = { method: 'POST', path: /^\/api\/v1\/statuses$/ };

async function connected(t: ExecutionContext, scopes = defaultScopes) {
  const person = await mastodonAccount(scopes);
  const { baseUrl, accessToken } = person;
  const account = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
  return { person, account };
}

/** What becomes of a post when the server answers something of our choosing. */
async function answering(t: ExecutionContext) {
  const { account, person } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const failureAfter = (answer: Answer): Promise<NetworkError | undefined> => {
    proxy.plan(creates, { kind: 'refused', answer });
    const attempt = publish(mastodon, connection, partsOf('Hi'));
    return t.throwsAsync(attempt, { instanceOf: NetworkError });
  };
  return { failureAfter, accessToken: person.accessToken };
}

test('a revoked token loses access, at the look before a post as well as at the post', async (t) => {
  const { person, account } = await connected(t);
  const frozen = await mastodon.freeze(openConnection(t, account), partsOf('Hi'), Date.now());
  await person.revoke();

  const connection = openConnection(t, account);
  const lost = { name: 'NetworkError', code: 'access_lost' };
  const sending = sendStep(mastodon, connection, nextStep(mastodon, frozen, []));
  t.like(await sending.catch((error: unknown) => error), { ...lost, taken: 'no' });
  const freezing = mastodon.freeze(connection, partsOf('Hi'), Date.now());
  t.like(await freezing.catch((error: unknown) => error), { ...lost, taken: 'no' });
});

test('a token that may only read lacks the permission to post', async (t) => {
  const { account } = await connected(t, 'read:accounts read:statuses');
  const attempt = publish(mastodon, openConnection(t, account), partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'permission_missing', taken: 'no' });
});

test('a thread whose last part was deleted does not go on', async (t) => {
  const { account, person } = await connected(t);
  const connection = openConnection(t, account);
  const frozen = await mastodon.freeze(connection, partsOf('One', 'Two'), Date.now());
  const sent = await sendStep(mastodon, connection, nextStep(mastodon, frozen, []));
  await removeStatus(person.client, sent[0]?.remoteId ?? '');

  const attempt = sendStep(mastodon, connection, nextStep(mastodon, frozen, sent));
  t.like(await t.throwsAsync(attempt), { code: 'content_refused', taken: 'no' });
});

test('a server that moved away has certainly not posted', async (t) => {
  const { failureAfter } = await answering(t);
  const headers = { location: 'https://elsewhere.example/api/v1/statuses' };
  const error = await failureAfter({ status: 301, headers });
  t.like(error, { code: 'network_unavailable', taken: 'no' });
});

test('a server whose proxy gives up may have posted', async (t) => {
  const { failureAfter } = await answering(t);
  for (const status of [500, 502, 503, 504]) {
    const error = await failureAfter({ status });
    t.like(error, { code: 'network_unavailable', taken: 'unknown', retryAtMs: undefined });
  }
});

test('a token that the server repeats in its answer stays out of the message', async (t) => {
  const { failureAfter, accessToken } = await answering(t);
  const body = JSON.stringify({ error: `Bad header: Bearer ${accessToken}` });
  const error = await failureAfter({ status: 422, body });
  t.like(error, { code: 'content_refused', taken: 'no' });
  t.true(error?.message.includes('Bad header'));
  t.false(error?.message.includes(accessToken));
});

test('a busy server is heeded also when it says Retry-After', async (t) => {
  const { failureAfter } = await answering(t);
  const beforeMs = Date.now();
  const error = await failureAfter({ status: 429, headers: { 'retry-after': '120' } });
  t.like(error, { code: 'rate_limited', taken: 'no' });
  const waitMs = (error?.retryAtMs ?? 0) - beforeMs;
  t.true(waitMs >= 120_000 && waitMs < 150_000, `${waitMs} ms`);
});

test('every try sends the key of its part, and posts are public', async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = partsOf('One', 'Two');
  await publish(mastodon, connection, parts);

  const posted = proxy.seen.filter(({ method }) => method === 'POST');
  t.deepEqual(
    posted.map(({ headers }) => headers['idempotency-key']),
    parts.map(({ key }) => key),
  );
  t.deepEqual(
    posted.map(({ body }) => JSON.parse(body).visibility),
    ['public', 'public'],
  );
});
