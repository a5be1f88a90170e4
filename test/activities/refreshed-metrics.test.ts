import test, { type ExecutionContext } from 'ava';
import { sharedDatabase } from '../support/kit.ts';
import {
  measuredChannel,
  measuredNetwork,
  read,
  type MeasuredNetwork,
} from './measured-network.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const database = sharedDatabase(test);
const newChannel = (t: ExecutionContext, network?: MeasuredNetwork) =>
  measuredChannel(t, database().url, network);
const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

test('metrics of a post are read 15 minutes after publishing, and less often as the post ages', async (t) => {
  const channel = await newChannel(t);
  const { network, deps } = channel;
  const post = await channel.publish({ likes: 1, comments: 0 });
  t.deepEqual(await channel.refresh(), nothing);
  t.like(await post.row(), { metrics: null, updatedAt: null });

  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.like(await post.row(), { metrics: { likes: 1, comments: 0 }, updatedAt: deps.now() });
  const untilNext = async (): Promise<number> =>
    ((await post.row()).nextAt?.getTime() ?? 0) - deps.now().getTime();
  t.is(await untilNext(), 15 * minute);

  for (const [age, next] of [
    [day, hour],
    [7 * day, day],
    [90 * day, 7 * day],
    [364 * day, 7 * day],
  ] as const) {
    const publishedAt = Date.parse('2026-05-01T12:00:00Z');
    channel.pass(publishedAt + age - deps.now().getTime());
    network.figures.set(post.remoteId, read({ likes: age / day }));
    await post.makeDue();
    t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
    t.is(await untilNext(), next);
  }

  channel.pass(7 * day);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.like(await post.row(), { metrics: { likes: 364 }, nextAt: null });
});

test('metrics that a network no longer reports are removed, and invalid counts are ignored', async (t) => {
  const channel = await newChannel(t);
  const post = await channel.publish({ likes: 5, impressions: 100 });
  channel.pass(15 * minute);
  await channel.refresh();
  const odd = { likes: 6, saves: -1, shares: 1.5, comments: Number.NaN };
  channel.network.figures.set(post.remoteId, read(odd));
  channel.pass(15 * minute);
  await channel.refresh();
  t.deepEqual((await post.row()).metrics, { likes: 6 });
});

test('each UTC day keeps the metrics that were read last', async (t) => {
  const channel = await newChannel(t);
  const post = await channel.publish({ likes: 1 });
  const readAt = async (instant: string, likes: number): Promise<void> => {
    channel.pass(Date.parse(instant) - channel.deps.now().getTime());
    channel.network.figures.set(post.remoteId, read({ likes }));
    await post.makeDue();
    t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  };
  await readAt('2026-05-01T20:00:00.000Z', 2);
  await readAt('2026-05-01T23:59:59.999Z', 3);
  await readAt('2026-05-02T00:00:00.000Z', 4);
  t.deepEqual(await post.days(), [
    { day: '2026-05-01', metrics: { likes: 3 } },
    { day: '2026-05-02', metrics: { likes: 4 } },
  ]);
});

test('a post that was deleted on its network is marked, keeps its last metrics and is not read again', async (t) => {
  const channel = await newChannel(t);
  const [post, other] = [await channel.publish({ likes: 3 }), await channel.publish({ likes: 4 })];
  channel.pass(15 * minute);
  await channel.refresh();
  channel.network.figures.set(post.remoteId, { kind: 'gone' });
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1, gone: 1 });
  const { deps } = channel;
  const readAt = new Date(deps.now().getTime() - 15 * minute);
  t.deepEqual(await post.row(), {
    metrics: { likes: 3 },
    updatedAt: readAt,
    nextAt: null,
    goneAt: deps.now(),
  });
  t.like(await other.row(), { metrics: { likes: 4 }, updatedAt: deps.now(), goneAt: null });
});

test('a post that a network omits keeps its metrics and is read again', async (t) => {
  const channel = await newChannel(t);
  const post = await channel.publish({ likes: 3 });
  channel.pass(15 * minute);
  await channel.refresh();
  const before = await post.row();
  channel.network.figures.delete(post.remoteId);
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, failed: 1 });
  t.deepEqual(await post.row(), {
    ...before,
    nextAt: new Date(channel.deps.now().getTime() + 15 * minute),
  });
  channel.pass(2 * day);
  t.deepEqual(await channel.refresh(), { ...nothing, failed: 1 });
  t.deepEqual((await post.row()).nextAt, new Date(channel.deps.now().getTime() + hour));
});

test('posts are read in the largest batches that the network allows', async (t) => {
  const channel = await newChannel(t, measuredNetwork({ batchSize: 3 }));
  for (let nr = 0; nr < 7; nr += 1) {
    await channel.publish({ likes: nr });
  }

  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 7 });
  t.deepEqual(
    channel.network.reads.map(({ length }) => length),
    [3, 3, 1],
  );
});

test('metrics of a thread are those of its first part', async (t) => {
  const channel = await newChannel(t);
  const post = await channel.newPost(['One', 'Two']);
  await post.attempt();
  const [first] = channel.network.live;
  channel.network.figures.set(first?.sent.remoteId ?? '', read({ likes: 9 }));
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
  t.deepEqual((await post.row()).metrics, { likes: 9 });
});

test('a channel that was settled by hand is not read', async (t) => {
  const channel = await newChannel(t);
  const post = await channel.publish();
  const em = channel.deps.orm.em.fork();
  await em.execute(`update post_parts set remote_id = null where channel_id = ?`, [
    channel.channelId,
  ]);
  channel.pass(15 * minute);
  t.deepEqual(await channel.refresh(), { ...nothing, postponed: 1 });
  t.like(await post.row(), { metrics: null, nextAt: null });
  t.deepEqual(channel.network.reads, []);
});
