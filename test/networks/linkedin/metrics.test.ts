import test from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { bench, connected, linkedin, selfServe } from './bench.ts';

const reader = readerOf(linkedin);
const organization = 'urn:li:organization:1000';
const metric = (type: string) => ({ method: 'GET', path: new RegExp(`queryType=${type}&`, 'v') });
const denied = {
  status: 403,
  body: JSON.stringify({ status: 403, code: 'ACCESS_DENIED', message: 'Not enough permissions' }),
};

readsMetrics(test, {
  ...bench,
  connect: connected,
  reads: metric('IMPRESSION'),
  expectedMetrics: { impressions: 900, likes: 20, comments: 3, shares: 9, saves: 6 },
  tellsFollowers: true,
});

/** A post of a member or an organisation, through a proxy that can fail. */
async function onePost(
  t: Parameters<typeof connected>[0],
  as: { token?: string; organization?: string } = {},
) {
  const { url, account } = await connected(t, as);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const [sent] = (await publish(linkedin, connection, partsOf('Hi'))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { impressions: 9, likes: 8, comments: 7, reposts: 6, quotes: 0, saves: 5 };
  await setFigures(url, { platform: 'linkedin', id, figures });
  return { url, proxy, connection, id };
}

test('a metric that the app may not read is absent, and the others are read', async (t) => {
  const { proxy, connection, id } = await onePost(t);
  proxy.plan(metric('IMPRESSION'), { kind: 'refused', answer: denied });
  proxy.plan(metric('POST_SAVE'), { kind: 'refused', answer: denied });
  t.deepEqual((await reader.read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { likes: 8, comments: 7, shares: 6 },
  });
});

test('a self-serve app may read no metrics, and the error names the missing permission', async (t) => {
  const { connection, id } = await onePost(t, { token: selfServe });
  const error = await t.throwsAsync(reader.read(connection, [id]), { instanceOf: NetworkError });
  t.like(error, { code: 'permission_missing', accepted: 'no' });
  t.regex(error.message, /r_member_postAnalytics/v);
  t.is(await reader.followers?.(connection), null);
});

test('a post whose reading fails half way keeps its last metrics, and earlier posts are read', async (t) => {
  const { proxy, connection, id } = await onePost(t);
  const [second] = (await publish(linkedin, connection, partsOf('Second'))).sent;
  const both = [id, second?.remoteId ?? ''];
  proxy.plan(metric('COMMENT'), { kind: 'none' });
  proxy.plan(metric('COMMENT'), { kind: 'refused', answer: { status: 500, body: '{}' } });
  t.deepEqual([...(await reader.read(connection, both)).keys()], [id]);
});

test('hidden metrics are absent; a post without any metric is not gone while it exists', async (t) => {
  const { url, connection, id } = await onePost(t);
  await setFigures(url, { platform: 'linkedin', id, figures: { likes: null, saves: null } });
  t.deepEqual((await reader.read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { impressions: 9, comments: 7, shares: 6 },
  });
  const none = { impressions: null, comments: null, reposts: null };
  await setFigures(url, { platform: 'linkedin', id, figures: none });
  t.is((await reader.read(connection, [id])).size, 0);
});

test('posts of an organisation are read with one request, without saves', async (t) => {
  const { url, proxy, connection, id } = await onePost(t, { organization });
  const [second] = (await publish(linkedin, connection, partsOf('Second'))).sent;
  const gone = second?.remoteId ?? '';
  await setFigures(url, { platform: 'linkedin', id: gone, gone: true });
  await setFigures(url, { platform: 'linkedin', followers: 77 });

  const before = proxy.seen.length;
  const readings = await reader.read(connection, [id, gone]);
  t.deepEqual(Object.fromEntries(readings), {
    [id]: { kind: 'read', metrics: { impressions: 9, likes: 8, comments: 7, shares: 6 } },
    [gone]: { kind: 'gone' },
  });
  t.is(proxy.seen.length - before, 2, 'one for both, and one for the missing post');
  t.is(await reader.followers?.(connection), 77);
});

test('an error says that the app may not read a page’s statistics', async (t) => {
  const { proxy, connection, id } = await onePost(t, { organization });
  const path = /organizationalEntityShareStatistics/v;
  proxy.plan({ method: 'GET', path }, { kind: 'refused', answer: denied });
  const error = await t.throwsAsync(reader.read(connection, [id]), { instanceOf: NetworkError });
  t.like(error, { code: 'permission_missing' });
  t.regex(error.message, /rw_organization_admin/v);
});
