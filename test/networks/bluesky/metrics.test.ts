import test from 'ava';
import { lexicons } from '@atproto/api';
import { blueskyNetwork } from '../../../networks/bluesky/adapter.ts';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { egressTo, openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { bench } from './bench.ts';

const reader = readerOf(blueskyNetwork);
const reads = { method: 'GET', path: /\/xrpc\/app\.bsky\.feed\.getPosts\?/v };

async function atSandbox(t: Parameters<typeof openSandbox>[0]) {
  const { url } = await openSandbox(t);
  const baseUrl = `${url}/bluesky`;
  const login = { baseUrl, identifier: 'demo.sandbox.test', appPassword: 'demo' };
  return { url, account: await connectBluesky(egressTo(t, baseUrl), login) };
}

const keyOf = (uri: string): string => uri.split('/').at(-1) ?? '';

readsMetrics(test, {
  ...bench,
  connect: atSandbox,
  idOf: keyOf,
  reads,
  expectedMetrics: { likes: 20, comments: 3, shares: 9, saves: 6 },
  tellsFollowers: true,
});

test('a metric that an AppView does not count is absent, and never 0', async (t) => {
  const { url, account } = await atSandbox(t);
  const connection = openConnection(t, account);
  const [sent] = (await publish(blueskyNetwork, connection, partsOf('Hi'))).sent;
  const uri = sent?.remoteId ?? '';
  const figures = { likes: 1, comments: null, reposts: 2, quotes: null, saves: null };
  await setFigures(url, { platform: 'bluesky', id: keyOf(uri), figures });
  await setFigures(url, { platform: 'bluesky', followers: null });
  t.deepEqual((await reader.read(connection, [uri])).get(uri), {
    kind: 'read',
    metrics: { likes: 1, shares: 2 },
  });
  t.is(await reader.followers?.(connection), null);
});

test('a post that the AppView does not show is not gone while the account has it', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const { sent } = await publish(blueskyNetwork, connection, partsOf('Hi'));
  const ids = sent.map(({ remoteId }) => remoteId);
  const empty = { status: 200, body: JSON.stringify({ posts: [] }) };
  proxy.plan(reads, { kind: 'overruled', answer: empty });
  t.deepEqual([...(await reader.read(connection, ids))], []);

  // The same if the account's server cannot tell.
  const records = { method: 'GET', path: /getRecord/v };
  const answers = [
    { status: 502, body: '{"error":"UpstreamFailure"}' },
    { status: 404, body: '<html>' },
    { status: 400, body: '{"error":"InvalidRequest","message":"Could not find repo"}' },
  ];
  for (const answer of answers) {
    proxy.plan(reads, { kind: 'overruled', answer: empty });
    proxy.plan(records, { kind: 'overruled', answer });
    t.deepEqual([...(await reader.read(connection, ids))], []);
  }
});

test('25 posts are one request, and it and its answer match the lexicon', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const ids: string[] = [];
  for (let made = 0; made < 25; made += 1) {
    const { sent } = await publish(blueskyNetwork, connection, partsOf(`Post ${made}`));
    ids.push(...sent.map(({ remoteId }) => remoteId));
  }
  const before = proxy.seen.length;
  t.is((await reader.read(connection, ids)).size, 25);
  const [asked, ...more] = proxy.seen.slice(before);
  t.is(more.length, 0);

  const uris = new URL(asked?.path ?? '', proxy.url).searchParams.getAll('uris');
  const method = 'app.bsky.feed.getPosts';
  t.notThrows(() => lexicons.assertValidXrpcParams(method, { uris }));
  const { authorization = '' } = asked?.headers ?? {};
  const answer = await fetch(proxy.url + (asked?.path ?? ''), { headers: { authorization } });
  const body: unknown = await answer.json();
  t.notThrows(() => lexicons.assertValidXrpcOutput(method, body));
});

test('an error with a success status does not change the number of followers', async (t) => {
  const { account } = await atSandbox(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const asks = { method: 'GET', path: /\/xrpc\/app\.bsky\.actor\.getProfile\?/v };
  const body = '{"error":"Try again later"}';
  proxy.plan(asks, { kind: 'overruled', answer: { status: 200, body } });
  const error = await t.throwsAsync(async () => reader.followers?.(connection));
  t.like(error, { code: 'network_unavailable' });
});
