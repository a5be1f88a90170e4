import type { ExecutionContext } from 'ava';
import type { mastodon as masto } from 'masto';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { NetworkError, type Finding } from '../../../networks/network.ts';
import { mastodonAccount } from '../../support/accounts.ts';
import { lossyProxy, type Answer } from '../../support/lossy-proxy.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { openConnection } from '../connection.ts';
import { readerOf } from '../metrics-suite.ts';
import { nextStep, partsOf, publish, sendStep } from '../publish.ts';
import { bench, connected } from './bench.ts';

const test = needs('gotosocial');

/** Deletes a status and waits until it is gone: GoToSocial answers before it deletes. */
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

// Reconciling with the account's statuses.

const idsOf = (finding: Finding): (string | undefined)[] =>
  finding.kind === 'found' ? finding.candidates.map(([part]) => part?.remoteId) : [];

test('two equal posts are both candidates, the older one first', async (t) => {
  const { connection, client } = await connected(t);
  await client.v1.statuses.create({ status: 'twice the same', visibility: 'public' });
  const prepared = await mastodonNetwork.prepare(connection, partsOf('twice the same'), Date.now());
  const step = nextStep(mastodonNetwork, prepared, []);
  const [first] = await sendStep(mastodonNetwork, connection, step);
  const [second] = await sendStep(mastodonNetwork, connection, step);

  const finding = await mastodonNetwork.reconcile(connection, step);
  t.deepEqual(idsOf(finding), [first?.remoteId, second?.remoteId]);
  t.like(finding, { candidates: [[first], [second]] });
});

test('a part is searched for only among replies to the part before it', async (t) => {
  const { connection } = await connected(t);
  const { prepared, sent } = await publish(
    mastodonNetwork,
    connection,
    partsOf('Same', 'Same', 'Same'),
  );

  for (const index of [0, 1, 2]) {
    const step = nextStep(mastodonNetwork, prepared, sent.slice(0, index));
    t.deepEqual(idsOf(await mastodonNetwork.reconcile(connection, step)), [sent[index]?.remoteId]);
  }
});

test('a post is found although the one before it was deleted since', async (t) => {
  const { connection, client } = await connected(t);
  const before = await client.v1.statuses.create({ status: 'before', visibility: 'public' });
  const prepared = await mastodonNetwork.prepare(connection, partsOf('after'), Date.now());
  const [sent] = await sendStep(
    mastodonNetwork,
    connection,
    nextStep(mastodonNetwork, prepared, []),
  );
  await removeStatus(client, before.id);

  const finding = await mastodonNetwork.reconcile(
    connection,
    nextStep(mastodonNetwork, prepared, []),
  );
  t.deepEqual(idsOf(finding), [sent?.remoteId]);
});

test('a post is found among more than a page of newer ones', async (t) => {
  const { connection, client } = await connected(t);
  await client.v1.statuses.create({ status: 'before', visibility: 'public' });
  const prepared = await mastodonNetwork.prepare(connection, partsOf('needle'), Date.now());
  const [sent] = await sendStep(
    mastodonNetwork,
    connection,
    nextStep(mastodonNetwork, prepared, []),
  );
  for (let count = 0; count < 41; count += 1) {
    await client.v1.statuses.create({ status: `hay ${count}`, visibility: 'public' });
  }

  const finding = await mastodonNetwork.reconcile(
    connection,
    nextStep(mastodonNetwork, prepared, []),
  );
  t.deepEqual(idsOf(finding), [sent?.remoteId]);
});

test('on a server without sources, the text of its pages counts', async (t) => {
  const { account, connection } = await connected(t);
  const text =
    'Look: https://example.com/a_b?c=1&d=2 "quoted" <b> #tag 👋\n\nby @nobody@example.com';
  const { prepared, sent } = await publish(mastodonNetwork, connection, partsOf(text));
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan({ method: 'GET', path: /\/source$/ }, { kind: 'refused', answer: { status: 404 } });

  const viaProxy = openConnection(t, account, { baseUrl: proxy.url });
  const finding = await mastodonNetwork.reconcile(
    viaProxy,
    nextStep(mastodonNetwork, prepared, []),
  );
  t.deepEqual(idsOf(finding), [sent[0]?.remoteId]);
});

test('a failed lookup leaves the outcome unknown', async (t) => {
  const { account, connection } = await connected(t);
  const { prepared } = await publish(mastodonNetwork, connection, partsOf('Hi'));
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan({ method: 'GET', path: /\/statuses\?/ }, { kind: 'refused', answer: { status: 503 } });

  const viaProxy = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = mastodonNetwork.reconcile(viaProxy, nextStep(mastodonNetwork, prepared, []));
  await t.throwsAsync(attempt, { name: 'NetworkError', code: 'network_unavailable' });
  t.like(await attempt.catch((error: unknown) => error), { accepted: 'unknown' });
});

// Refusals and their causes.

/** An account behind a proxy whose answers the test plans. */
async function answering(t: ExecutionContext) {
  const { account, person } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const failureAfter = (answer: Answer): Promise<NetworkError | undefined> => {
    proxy.plan(bench.creates, { kind: 'refused', answer });
    const attempt = publish(mastodonNetwork, connection, partsOf('Hi'));
    return t.throwsAsync(attempt, { instanceOf: NetworkError });
  };
  return { failureAfter, accessToken: person.accessToken };
}

test('a revoked token loses access, at the lookup before a post as well as at the post', async (t) => {
  const { person, account } = await connected(t);
  const prepared = await mastodonNetwork.prepare(
    openConnection(t, account),
    partsOf('Hi'),
    Date.now(),
  );
  await person.revoke();

  const connection = openConnection(t, account);
  const lost = { name: 'NetworkError', code: 'access_lost' };
  const sending = sendStep(mastodonNetwork, connection, nextStep(mastodonNetwork, prepared, []));
  t.like(await sending.catch((error: unknown) => error), { ...lost, accepted: 'no' });
  const preparing = mastodonNetwork.prepare(connection, partsOf('Hi'), Date.now());
  t.like(await preparing.catch((error: unknown) => error), { ...lost, accepted: 'no' });
});

test('a thread whose last part was deleted does not continue', async (t) => {
  const { connection, client } = await connected(t);
  const prepared = await mastodonNetwork.prepare(connection, partsOf('One', 'Two'), Date.now());
  const sent = await sendStep(mastodonNetwork, connection, nextStep(mastodonNetwork, prepared, []));
  await removeStatus(client, sent[0]?.remoteId ?? '');

  const attempt = sendStep(mastodonNetwork, connection, nextStep(mastodonNetwork, prepared, sent));
  t.like(await t.throwsAsync(attempt), { code: 'content_refused', accepted: 'no' });
});

test('a redirect of a server that has moved means that nothing was posted', async (t) => {
  const { failureAfter } = await answering(t);
  const headers = { location: 'https://elsewhere.example/api/v1/statuses' };
  const error = await failureAfter({ status: 301, headers });
  t.like(error, { code: 'network_unavailable', accepted: 'no' });
});

test("a busy server's Retry-After is respected", async (t) => {
  const { failureAfter } = await answering(t);
  const beforeMs = Date.now();
  const error = await failureAfter({ status: 429, headers: { 'retry-after': '120' } });
  t.like(error, { code: 'rate_limited', accepted: 'no' });
  const retryBaseMs = (error?.retryAtMs ?? 0) - 120_000;
  t.true(retryBaseMs >= beforeMs && retryBaseMs <= Date.now(), `${retryBaseMs}`);
});

test("every attempt sends its part's key, and posts are public", async (t) => {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const parts = partsOf('One', 'Two');
  await publish(mastodonNetwork, connection, parts);

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

const reader = readerOf(mastodonNetwork);

/** An account's posts, and another account that reads them. */
async function withAReader(t: ExecutionContext, ...texts: readonly string[]) {
  const { client, account, connection } = await connected(t, 'read write');
  const { sent } = await publish(mastodonNetwork, connection, partsOf(...texts));
  const ids = sent.map(({ remoteId }) => remoteId);
  const someone = await mastodonAccount('read write');
  const read = async (id: string) => (await reader.read(connection, [id])).get(id);
  return { client, account, connection, ids, someone: someone.client, read };
}

test('likes, boosts and replies of another account are read', async (t) => {
  const { ids, someone, read } = await withAReader(t, 'Measure me', 'And me');
  const [first = '', second = ''] = ids;
  t.deepEqual(await read(second), { kind: 'read', metrics: { likes: 0, comments: 0, shares: 0 } });

  await someone.v1.statuses.$select(second).favourite();
  await someone.v1.statuses.$select(second).reblog();
  for (const status of ['Nice', 'Very nice']) {
    await someone.v1.statuses.create({ status, inReplyToId: second, visibility: 'public' });
  }

  const figures = { likes: 1, comments: 2, shares: 1 };
  const reading = await poll(
    () => read(second),
    (found) => found?.kind === 'read' && found.metrics.comments === 2 && found.metrics.shares === 1,
  );
  t.deepEqual(reading, { kind: 'read', metrics: figures });
  // The thread's second part is a reply to its first.
  t.like(await read(first), { metrics: { likes: 0, comments: 1, shares: 0 } });
});
