import test from 'ava';
import type { Json } from '../../../domain/json-schema.ts';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { publish } from '../publish.ts';
import { bench, filmParts, openYoutube } from './bench.ts';

const reader = readerOf(youtubeNetwork);
const reads = { method: 'GET', path: /\/videos\?/v };
const answering = (body: Json) => ({
  kind: 'overruled' as const,
  answer: { status: 200, body: JSON.stringify(body) },
});

readsMetrics(test, {
  ...bench,
  connect: async (t) => {
    const { sandbox, account } = await openYoutube(t);
    return { url: sandbox.url, account };
  },
  reads,
  expectedMetrics: { likes: 20, comments: 3 },
  tellsFollowers: true,
});

test('likes, comments and subscribers that an owner hides are absent, and never 0', async (t) => {
  const { sandbox, account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const [sent] = (await publish(youtubeNetwork, connection, await filmParts(['Hi']))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { likes: null, comments: null };
  await setFigures(sandbox.url, { platform: 'youtube', id, figures });
  await setFigures(sandbox.url, { platform: 'youtube', followers: null });
  t.deepEqual((await reader.read(connection, [id])).get(id), { kind: 'read', metrics: {} });
  t.is(await reader.followers?.(connection), null);
});

test('a missing video is gone only if it is missing twice, and the token belongs to its channel', async (t) => {
  const { account } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const { sent } = await publish(youtubeNetwork, connection, await filmParts(['Hi']));
  const ids = sent.map(({ remoteId }) => remoteId);
  const channels = { method: 'GET', path: /\/channels\?/v };

  proxy.plan(reads, answering({ items: [] }));
  t.is((await reader.read(connection, ids)).size, 0, 'the second lookup finds it');
  for (const body of [{}, { items: [] }, { items: [{ id: 'UCanother' }] }]) {
    proxy.plan(reads, answering({ items: [] }));
    proxy.plan(channels, answering(body));
    t.is((await reader.read(connection, ids)).size, 0, JSON.stringify(body));
  }
});

test('invalid numbers are absent', async (t) => {
  const { account } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  for (const likeCount of [-1, 7, '-1', '1e3', '99999999999999999999', null, '']) {
    const statistics = { likeCount, commentCount: '8' };
    proxy.plan(reads, answering({ items: [{ id: 'video', statistics }, { id: 'other' }] }));
    const readings = await reader.read(connection, ['video']);
    t.deepEqual(Object.fromEntries(readings), {
      video: { kind: 'read', metrics: { comments: 8 } },
    });
  }
});
