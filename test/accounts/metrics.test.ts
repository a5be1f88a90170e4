import test, { type ExecutionContext } from 'ava';
import { refreshMetrics } from '../../activities/refresh-metrics/refresh-metrics.ts';
import { NetworkError, type MetricsReader } from '../../networks/network.ts';
import { attempt } from '../support/attempt.ts';
import { freshDatabase } from '../support/database.ts';
import { granted } from './granted.ts';

const minuteMs = 60_000;
const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };
const refusedToken = new NetworkError('access_lost', 'The network does not take the token.', {
  accepted: 'no',
  server: 'answered',
});

/** A post with due metrics, on a channel that was connected through OAuth. */
async function published(t: ExecutionContext, lives: { forMs: number }) {
  const { url } = await freshDatabase(t);
  const channel = await granted(t, url, lives);
  const { network, steps, due } = channel;
  const used: unknown[] = [];
  const metrics: MetricsReader & { refusals: number } = {
    refusals: 0,
    batchSize: 10,
    readsPerMonth: null,
    read: async ({ credentials }, ids) => {
      used.push(credentials);
      if (metrics.refusals > 0) {
        metrics.refusals -= 1;
        throw refusedToken;
      }
      return new Map(ids.map((id) => [id, { kind: 'read', metrics: { likes: 7 } }]));
    },
  };
  Object.assign(network, { metrics });
  const { post, attemptOnce } = await due();
  t.like(await attemptOnce(), { kind: 'done', status: 'published' });
  steps.pass(15 * minuteMs);
  const figures = async () => {
    const sql = 'select metrics, next_metrics_at from post_channels where post_id = ?';
    type Row = { metrics: object | null; next_metrics_at: Date };
    const [row] = await steps.deps.orm.em.fork().execute<Row[]>(sql, [post]);
    return { metrics: row?.metrics, inMs: Number(row?.next_metrics_at) - +steps.deps.now() };
  };
  const refresh = () => attempt(refreshMetrics, steps.deps, { network: 'a' });
  return { ...channel, metrics, used, figures, refresh };
}

test('a token that is refused before its time costs one refresh, and metrics are read at once with the next one', async (t) => {
  const { metrics, used, tokens, figures, refresh, state } = await published(t, {
    forMs: 60 * minuteMs,
  });
  metrics.refusals = 1;
  t.like(await refresh(), { ...nothing, read: 1, left: 1 });
  t.like(await figures(), { metrics: { likes: 7 } });
  t.is(tokens.spent.length, 1);
  t.notDeepEqual(used[0], used[1]);
  t.is((await state())?.state, 'connected');
});

test('a network that refuses new tokens is read later, and the channel stays connected', async (t) => {
  const { metrics, used, tokens, figures, refresh, state, steps, told } = await published(t, {
    forMs: 60 * minuteMs,
  });
  metrics.refusals = 2;
  t.like(await refresh(), { ...nothing, left: 1, failed: 1 });
  t.deepEqual(await figures(), { metrics: null, inMs: 15 * minuteMs });
  t.deepEqual([tokens.spent.length, used.length], [1, 2]);
  t.is((await state())?.state, 'connected');
  t.deepEqual(await told(), []);

  steps.pass(15 * minuteMs);
  t.like(await refresh(), { ...nothing, read: 1 });
});
