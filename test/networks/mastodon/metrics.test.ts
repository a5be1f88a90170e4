import test from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { NetworkError } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { egressTo, openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { bench } from './bench.ts';

const reader = readerOf(mastodonNetwork);
const reads = { method: 'GET', path: /\/api\/v1\/statuses\/[^\/]+$/v };

async function atSandbox(t: Parameters<typeof openSandbox>[0]) {
  const { url } = await openSandbox(t);
  const baseUrl = `${url}/mastodon`;
  const account = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken: 'demo' });
  return { url, account };
}

readsMetrics(test, {
  ...bench,
  connect: atSandbox,
  reads,
  expectedMetrics: { likes: 20, comments: 3, shares: 9 },
  tellsFollowers: true,
});

test('a metric that a server other than Mastodon leaves out is absent', async (t) => {
  const { url, account } = await atSandbox(t);
  const connection = openConnection(t, account);
  const [sent] = (await publish(mastodonNetwork, connection, partsOf('Hi'))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { likes: null, comments: 2, reposts: 3, quotes: null };
  await setFigures(url, { platform: 'mastodon', id, figures });
  t.deepEqual((await reader.read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { comments: 2, shares: 3 },
  });
});

test("reading stops at a quarter of the server's remaining requests, which are left for posts, and continues after the reset", async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const { sent } = await publish(mastodonNetwork, connection, partsOf('One', 'Two', 'Three'));
  const ids = sent.map(({ remoteId }) => remoteId);
  const resetAtMs = Math.ceil(Date.now() / 1000) * 1000 + 60_000;
  const limit = (remaining: number, atMs: number) => ({
    'x-ratelimit-limit': '300',
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': new Date(atMs).toISOString(),
  });
  const status = (index: number) => JSON.stringify({ id: ids[index], favourites_count: index });
  for (const [index, remaining] of [76, 75].entries()) {
    const headers = limit(remaining, resetAtMs);
    const answer = { status: 200, headers, body: status(index) };
    proxy.plan(reads, { kind: 'overruled', answer });
  }
  const before = proxy.seen.length;
  const readings = await reader.read(connection, ids);
  t.deepEqual(
    ids.map((id) => readings.get(id)?.kind),
    ['read', 'read', 'unasked'],
  );
  t.is(proxy.seen.length - before, 2);

  const error = await t.throwsAsync(reader.read(connection, ids), { instanceOf: NetworkError });
  t.like(error, { code: 'rate_limited', accepted: 'no', retryAtMs: resetAtMs });
  t.is(proxy.seen.length - before, 2, 'the server gets no request');
  await t.notThrowsAsync(
    publish(mastodonNetwork, connection, partsOf('A post does not wait for it')),
  );
  const another = { baseUrl: proxy.url, remoteId: 'another-account', http: connection.http };
  t.is((await reader.read(openConnection(t, account, another), ids)).size, 3);
});

test('posts that were read before a failure are kept', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const { sent } = await publish(mastodonNetwork, connection, partsOf('One', 'Two'));
  const ids = sent.map(({ remoteId }) => remoteId);
  proxy.plan(reads, { kind: 'none' });
  proxy.plan(reads, { kind: 'lost' });
  const readings = await reader.read(connection, ids);
  t.deepEqual(
    ids.map((id) => readings.get(id)?.kind),
    ['read', 'unasked'],
  );
});

test('an error with a success status does not change the number of followers', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const asks = { method: 'GET', path: /\/api\/v1\/accounts\/verify_credentials$/v };
  const body = '{"error":"Try again later"}';
  proxy.plan(asks, { kind: 'overruled', answer: { status: 200, body } });
  const error = await t.throwsAsync(async () => reader.followers?.(connection));
  t.like(error, { code: 'network_unavailable' });
});
