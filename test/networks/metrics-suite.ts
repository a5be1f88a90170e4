import type { ExecutionContext, TestFn } from 'ava';
import {
  NetworkError,
  type Account,
  type MetricsReader,
  type Network,
  type Metrics,
} from '../../networks/network.ts';
import type { FigureChange } from '../../sandbox/figures.ts';
import { lossyProxy, type Answer, type Target } from '../support/lossy-proxy.ts';
import { textWithPictures, type Bench } from './bench.ts';
import { openConnection } from './connection.ts';
import { publish } from './publish.ts';

/** The suite's inputs for a network that the sandbox implements. */
type MetricsBench = Pick<Bench, 'network' | 'shape' | 'resetHeaders'> & {
  /** Connects an account on a new sandbox. */
  connect(t: ExecutionContext): Promise<{ readonly url: string; readonly account: Account }>;
  /** The sandbox's id of a post. */
  idOf?(remoteId: string): string;
  /** The metrics that the reader makes of `figures`. */
  readonly expectedMetrics: Metrics;
  /** The request that reads posts. */
  readonly reads: Target;
  /** Whether the network shows an account's number of followers. */
  readonly tellsFollowers: boolean;
};

const figures = { impressions: 900, likes: 20, comments: 3, reposts: 4, quotes: 5, saves: 6 };

export const readerOf = ({ id, metrics }: Network): MetricsReader => {
  if (!metrics) {
    throw new Error(`${id} reads no metrics.`);
  }
  return metrics;
};

/** Sets a sandbox's metrics. */
export async function setFigures(
  url: string,
  call: {
    readonly platform: string;
    readonly id?: string;
    readonly figures?: FigureChange;
    readonly gone?: boolean;
    readonly followers?: number | null;
  },
): Promise<void> {
  const answer = await fetch(`${url}/control/figures`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  if (!answer.ok) {
    throw new Error(await answer.text());
  }
}

/** An account with posts whose metrics are set. */
async function withPosts(t: ExecutionContext, bench: MetricsBench, count: number) {
  const { network, shape = textWithPictures, idOf = (id) => id } = bench;
  const { url, account } = await bench.connect(t);
  const connection = openConnection(t, account);
  const set = (remoteId: string, call: { figures?: FigureChange; gone?: boolean }) =>
    setFigures(url, { platform: network.id, id: idOf(remoteId), ...call });
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) {
    const parts = await shape.parts([`Post ${made} ${crypto.randomUUID()}`]);
    const [sent] = (await publish(network, connection, parts)).sent;
    const remoteId = sent?.remoteId ?? '';
    ids.push(remoteId);
    await set(remoteId, { figures });
  }

  return { url, account, connection, ids, set };
}

/** The common suite for metrics readers, on the sandbox. */
export function readsMetrics(testIt: TestFn, bench: MetricsBench): void {
  readsFigures(testIt, bench);
  tellsFailures(testIt, bench);
}

function readsFigures(testIt: TestFn, bench: MetricsBench): void {
  const { network, expectedMetrics } = bench;
  const reader = readerOf(network);

  testIt('the metrics of several posts are read as the network shows them', async (t) => {
    const { connection, ids, set } = await withPosts(t, bench, 3);
    const [first = '', second = ''] = ids;
    await set(second, { figures: { likes: 0, comments: 0 } });

    const readings = await reader.read(connection, ids);
    t.deepEqual([...readings.keys()].toSorted(), ids.toSorted());
    t.deepEqual(readings.get(first), { kind: 'read', metrics: expectedMetrics });
    t.deepEqual(readings.get(second), {
      kind: 'read',
      metrics: { ...expectedMetrics, likes: 0, comments: 0 },
    });
  });

  testIt('a deleted post is gone, and the others are read', async (t) => {
    const { connection, ids, set } = await withPosts(t, bench, 2);
    const [first = '', second = ''] = ids;
    await set(first, { gone: true });

    const readings = await reader.read(connection, ids);
    t.deepEqual(readings.get(first), { kind: 'gone' });
    t.deepEqual(readings.get(second), { kind: 'read', metrics: expectedMetrics });
  });

  testIt("followers are the network's number, and otherwise absent", async (t) => {
    const { url, connection } = await withPosts(t, bench, 0);
    t.is(reader.followers !== undefined, bench.tellsFollowers);
    await setFigures(url, { platform: network.id, followers: 4321 });
    t.is(await reader.followers?.(connection), bench.tellsFollowers ? 4321 : undefined);
  });
}

function tellsFailures(testIt: TestFn, bench: MetricsBench): void {
  const { network, reads, resetHeaders } = bench;
  const reader = readerOf(network);
  const failures: readonly { readonly answer: Answer; readonly code: string }[] = [
    { answer: { status: 500, body: '{}' }, code: 'network_unavailable' },
    { answer: { status: 404, body: '<html>Not Found</html>' }, code: 'network_unavailable' },
    { answer: { status: 200, body: '<html>Hello</html>' }, code: 'network_unavailable' },
  ];
  testIt('a failure is an error, and no post counts as gone', async (t) => {
    const { account, ids } = await withPosts(t, bench, 1);
    for (const { answer, code } of failures) {
      const proxy = await lossyProxy(t, account.baseUrl);
      const connection = openConnection(t, account, { baseUrl: proxy.url });
      for (let times = 0; times < 5; times += 1) {
        proxy.plan(reads, { kind: 'refused', answer });
      }
      const read = reader.read(connection, ids);
      const error = await t.throwsAsync(read, { instanceOf: NetworkError }, answer.body);
      t.like(error, { code, accepted: 'no' });
    }
  });

  testIt('a rate limit says when metrics may be read again', async (t) => {
    const { account, ids } = await withPosts(t, bench, 1);
    const proxy = await lossyProxy(t, account.baseUrl);
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const resetAtMs = Math.ceil(Date.now() / 1000) * 1000 + 300_000;
    const headers = resetHeaders(resetAtMs);
    proxy.plan(reads, { kind: 'refused', answer: { status: 429, headers, body: '{}' } });
    const error = await t.throwsAsync(reader.read(connection, ids), { instanceOf: NetworkError });
    t.like(error, { code: 'rate_limited', accepted: 'no', retryAtMs: resetAtMs });
  });

  testIt('a revoked token loses access, and no post counts as gone', async (t) => {
    const { url, connection, ids } = await withPosts(t, bench, 1);
    await fetch(`${url}/control`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ platform: network.id, directive: 'revoke' }),
    });
    const error = await t.throwsAsync(reader.read(connection, ids), { instanceOf: NetworkError });
    t.like(error, { code: 'access_lost', accepted: 'no' });
  });
}
