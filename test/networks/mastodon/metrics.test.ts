import test from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
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
