import test from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
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
