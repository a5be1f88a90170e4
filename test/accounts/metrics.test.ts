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

test('a revoked grant emits one event and keeps the metrics, which are read again after a reconnect', async (t) => {
  const { connect, tokens, figures, refresh, state, steps, told } = await published(t, {
    forMs: 30 * minuteMs,
  });
  t.like(await refresh(), { ...nothing, read: 1 });
  tokens.isOver = true;
  for (let hour = 0; hour < 3; hour += 1) {
    steps.pass(60 * minuteMs);
    t.like(await refresh(), { ...nothing, postponed: 1 });
  }
  t.like(await figures(), { metrics: { likes: 7 } });
  t.is((await state())?.state, 'needs_reconnect');
  t.is(tokens.spent.length, 1);
  t.deepEqual(await told(), ['channel.needs_reconnect']);

  tokens.isOver = false;
  await connect(tokens.grant({ forMs: 60 * minuteMs }));
  steps.pass(60 * minuteMs);
  t.like(await refresh(), { ...nothing, read: 1 });
});

test('metrics and posts that need a new token at the same time use one refresh token', async (t) => {
  const { tokens, due, refresh, steps, state } = await published(t, { forMs: 20 * minuteMs });
  const { attemptOnce } = await due();
  steps.pass(10 * minuteMs);
  const [asked, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  tokens.slowly = () => {
    asked.resolve();
    return answers.promise;
  };
  const both = Promise.all([refresh(), attemptOnce()]);
  await asked.promise;
  answers.resolve();
  const [read, sent] = await both;
  t.like(read, { ...nothing, read: 1 });
  t.like(sent, { kind: 'done', status: 'published' });
  t.is(tokens.spent.length, 1);
  t.is((await state())?.state, 'connected');
});
