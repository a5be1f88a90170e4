import type { ExecutionContext } from 'ava';
import type { mastodon as masto } from 'masto';
import { mastodon } from '../../../networks/mastodon/adapter.ts';
import { NetworkError, type Finding } from '../../../networks/network.ts';
import { lossyProxy, type Answer } from '../../support/lossy-proxy.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { openConnection } from '../connection.ts';
import { nextStep, partsOf, publish, sendStep } from '../publish.ts';
import { bench, connected } from './bench.ts';

const test = needs('gotosocial');

/** Deletes a status for good: GoToSocial answers first and deletes then. */
async function removeStatus(client: masto.rest.Client, id: string): Promise<void> {
  const status = client.v1.statuses.$select(id);
  await status.remove();
  const isThere = () =>
    status.fetch().then(
      () => true,
      () => false,
    );
  await poll(isThere, (there) => !there);
}

// What a look at the account finds.

const idsOf = (finding: Finding): (string | undefined)[] =>
  finding.kind === 'found' ? finding.candidates.map(([part]) => part?.remoteId) : [];

test('of two equal posts both are candidates, the older one first', async (t) => {
  const { connection, client } = await connected(t);
  await client.v1.statuses.create({ status: 'twice the same', visibility: 'public' });
  const prepared = await mastodon.prepare(connection, partsOf('twice the same'), Date.now());
  const step = nextStep(mastodon, prepared, []);
  const [first] = await sendStep(mastodon, connection, step);
  const [second] = await sendStep(mastodon, connection, step);

  const finding = await mastodon.reconcile(connection, step);
  t.deepEqual(idsOf(finding), [first?.remoteId, second?.remoteId]);
  t.like(finding, { candidates: [[first], [second]] });
});

test('a part is looked for only under the part before it', async (t) => {
  const { connection } = await connected(t);
  const { prepared, sent } = await publish(mastodon, connection, partsOf('Same', 'Same', 'Same'));

  for (const index of [0, 1, 2]) {
    const step = nextStep(mastodon, prepared, sent.slice(0, index));
    t.deepEqual(idsOf(await mastodon.reconcile(connection, step)), [sent[index]?.remoteId]);
  }
});

test('a post is found although the one before it was deleted since', async (t) => {
  const { connection, client } = await connected(t);
  const before = await client.v1.statuses.create({ status: 'before', visibility: 'public' });
  const prepared = await mastodon.prepare(connection, partsOf('after'), Date.now());
  const [sent] = await sendStep(mastodon, connection, nextStep(mastodon, prepared, []));
  await removeStatus(client, before.id);

  const finding = await mastodon.reconcile(connection, nextStep(mastodon, prepared, []));
  t.deepEqual(idsOf(finding), [sent?.remoteId]);
});

test('a post is found among more than a page of newer ones', async (t) => {
  const { connection, client } = await connected(t);
  await client.v1.statuses.create({ status: 'before', visibility: 'public' });
  const prepared = await mastodon.prepare(connection, partsOf('needle'), Date.now());
  const [sent] = await sendStep(mastodon, connection, nextStep(mastodon, prepared, []));
  for (let count = 0; count < 41; count += 1) {
    await client.v1.statuses.create({ status: `hay ${count}`, visibility: 'public' });
  }

  const finding = await mastodon.reconcile(connection, nextStep(mastodon, prepared, []));
  t.deepEqual(idsOf(finding), [sent?.remoteId]);
});

test('a server without sources is believed by what its pages say', async (t) => {
  const { account, connection } = await connected(t);
  const text =
    'Look: https://example.com/a_b?c=1&d=2 "quoted" <b> #tag 👋\n\nby @nobody@example.com';
  const { prepared, sent } = await publish(mastodon, connection, partsOf(text));
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan({ method: 'GET', path: /\/source$/ }, { kind: 'refused', answer: { status: 404 } });

  const viaProxy = openConnection(t, account, { baseUrl: proxy.url });
  const finding = await mastodon.reconcile(viaProxy, nextStep(mastodon, prepared, []));
  t.deepEqual(idsOf(finding), [sent[0]?.remoteId]);
});

test('a look that fails leaves the outcome open', async (t) => {
  const { account, connection } = await connected(t);
  const { prepared } = await publish(mastodon, connection, partsOf('Hi'));
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan({ method: 'GET', path: /\/statuses\?/ }, { kind: 'refused', answer: { status: 503 } });

  const viaProxy = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = mastodon.reconcile(viaProxy, nextStep(mastodon, prepared, []));
  await t.throwsAsync(attempt, { name: 'NetworkError', code: 'network_unavailable' });
  t.like(await attempt.catch((error: unknown) => error), { taken: 'unknown' });
});

// What is refused, and why.

/** What becomes of a post when the server answers something of our choosing. */
async function answering(t: ExecutionContext) {
  const { account, person } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const failureAfter = (answer: Answer): Promise<NetworkError | undefined> => {
    proxy.plan(bench.creates, { kind: 'refused', answer });
    const attempt = publish(mastodon, connection, partsOf('Hi'));
    return t.throwsAsync(attempt, { instanceOf: NetworkError });
  };
  return { failureAfter, accessToken: person.accessToken };
}

test('a revoked token loses access, at the look before a post as well as at the post', async (t) => {
  const { person, account } = await connected(t);
  const prepared = await mastodon.prepare(openConnection(t, account), partsOf('Hi'), Date.now());
  await person.revoke();

  const connection = openConnection(t, account);
  const lost = { name: 'NetworkError', code: 'access_lost' };
  const sending = sendStep(mastodon, connection, nextStep(mastodon, prepared, []));
  t.like(await sending.catch((error: unknown) => error), { ...lost, taken: 'no' });
  const preparing = mastodon.prepare(connection, partsOf('Hi'), Date.now());
  t.like(await preparing.catch((error: unknown) => error), { ...lost, taken: 'no' });
});

test('a token that may only read lacks the permission to post', async (t) => {
  const { connection } = await connected(t, 'read:accounts read:statuses');
  const attempt = publish(mastodon, connection, partsOf('Hi'));
  t.like(await t.throwsAsync(attempt), { code: 'permission_missing', taken: 'no' });
});

test('a thread whose last part was deleted does not go on', async (t) => {
  const { connection, client } = await connected(t);
  const prepared = await mastodon.prepare(connection, partsOf('One', 'Two'), Date.now());
  const sent = await sendStep(mastodon, connection, nextStep(mastodon, prepared, []));
  await removeStatus(client, sent[0]?.remoteId ?? '');

  const attempt = sendStep(mastodon, connection, nextStep(mastodon, prepared, sent));
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
  const toldMs = (error?.retryAtMs ?? 0) - 120_000;
  t.true(toldMs >= beforeMs && toldMs <= Date.now(), `${toldMs}`);
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
