import test from 'ava';
import { openNetworks } from '../../../networks/registry.ts';
import { openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { bench, connected, x } from './bench.ts';
import { onBrokenLine } from './broken-line.ts';

readsMetrics(test, {
  ...bench,
  connect: async (t) => {
    const { sandbox, account } = await connected(t);
    return { url: sandbox.url, account };
  },
  reads: { method: 'GET', path: /\/2\/tweets\?/ },
  expectedMetrics: { impressions: 900, likes: 20, comments: 3, shares: 9, saves: 6 },
  tellsFollowers: false,
});

test('a metric that X hides is absent, and never 0', async (t) => {
  const { sandbox, connection } = await connected(t);
  const [sent] = (await publish(x, connection, partsOf('Hi'))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { impressions: null, saves: null, likes: 1, comments: 2, reposts: 3, quotes: 4 };
  await setFigures(sandbox.url, { platform: 'x', id, figures });
  t.deepEqual((await readerOf(x).read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { likes: 1, comments: 2, shares: 7 },
  });
});

test('a hundred posts of X are one request, and paid reads are limited and happen once a day', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const ids = Array.from({ length: 100 }, (_, index) => String(10n ** 18n + BigInt(index)));
  const readings = await readerOf(x).read(connection, ids);
  t.is(proxy.seen.length, 1);
  t.true([...readings.values()].every(({ kind }) => kind === 'gone') && readings.size === 100);
  t.like(readerOf(x), { batchSize: 100, readsPerMonth: 10_000 });
  t.is(x.rules.metricsEveryMs, 24 * 3_600_000);
});

test('invalid metrics, and a post that the account may not read, give no readings', async (t) => {
  const { proxy, connection, account } = await onBrokenLine(t);
  const body = JSON.stringify({
    data: [
      { id: '1', public_metrics: { like_count: -1, reply_count: '3', quote_count: 2 } },
      { id: '2', public_metrics: { like_count: 1.5, retweet_count: 4, quote_count: 2 } },
      { id: '3' },
      { id: '99', public_metrics: { like_count: 1 } },
    ],
    errors: [
      { resource_id: '4', type: 'https://api.twitter.com/2/problems/not-authorized-for-resource' },
      { value: '5', type: 'https://api.twitter.com/2/problems/resource-not-found' },
    ],
  });
  proxy.plan(
    { method: 'GET', path: /\/2\/tweets\?/ },
    { kind: 'overruled', answer: { status: 200, body } },
  );
  const asked = openConnection(t, account, { baseUrl: connection.baseUrl });
  const readings = await readerOf(x).read(asked, ['1', '2', '3', '4', '5']);
  t.deepEqual(Object.fromEntries(readings), {
    1: { kind: 'read', metrics: {} },
    2: { kind: 'read', metrics: { shares: 6 } },
    5: { kind: 'gone' },
  });
});

test('settings decide how often X is read and how much of it per month; 0 turns it off', async (t) => {
  const open = async (env: Record<string, string>) => (await openNetworks(env).load())['x'];
  t.is((await open({ PUNCTUAL_X_METRIC_READS_PER_MONTH: '0' }))?.metrics, undefined);
  t.like(
    await open({ PUNCTUAL_X_METRIC_READS_PER_MONTH: '7', PUNCTUAL_X_METRICS_EVERY_HOURS: '48' }),
    { metrics: { readsPerMonth: 7 }, rules: { metricsEveryMs: 48 * 3_600_000 } },
  );
  t.throws(() => openNetworks({ PUNCTUAL_X_METRICS_EVERY_HOURS: '0' }), {
    message: /PUNCTUAL_X_METRICS_EVERY_HOURS must be a whole number from 1 to 8760/v,
  });
});
