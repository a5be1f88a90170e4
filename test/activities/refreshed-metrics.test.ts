import test, { type ExecutionContext } from 'ava';
import { sharedDatabase } from '../support/kit.ts';
import { addFakeChannel } from '../support/seed.ts';
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

test('concurrent reads of one post on two channels, in any order, are all recorded and summed', async (t) => {
  const [count, rounds] = [60, 10];
  const network = measuredNetwork({ batchSize: count });
  const channel = await measuredChannel(t, database().url, network);
  const { deps, workspaceId, channelId } = channel;
  const em = deps.orm.em.fork();
  const other = await addFakeChannel(deps, workspaceId, network.id, { remoteId: 'other' });
  const run = (sql: string, values: readonly unknown[] = []) => em.execute(sql, values);
  await run(
    `with made as (
        insert into posts (id, workspace_id, status, body, scheduled_at, published_at, revision, synced_revision, run, created_at, updated_at)
          select gen_random_uuid(), ?, 'published', 'x', now(), now(), 1, 1, 1, now(), now() from generate_series(1, ?)
          returning id)
      insert into post_channels (id, workspace_id, post_id, channel_id, position, status, tries, published_at)
        select gen_random_uuid(), ?, made.id, c.id, 0, 'published', 1, ?::timestamptz
        from made, unnest(array[?, ?]::uuid[]) c (id)`,
    [workspaceId, count, workspaceId, deps.now(), channelId, other],
  );
  await run(
    `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, remote_id, url, created_at, updated_at)
      select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id::text, 'sent', 'x', 'null', id::text, 'x', now(), now()
      from post_channels where workspace_id = ?`,
    [workspaceId],
  );
  const rows = (await run('select id from post_channels where workspace_id = ?', [
    workspaceId,
  ])) as { id: string }[];
  for (let round = 1; round <= rounds; round += 1) {
    channel.pass(15 * minute);
    for (const { id } of rows) {
      network.figures.set(id, read({ likes: round }));
    }

    await run(
      `update post_channels set next_metrics_at = ?::timestamptz - random() * interval '1 hour' where workspace_id = ?`,
      [deps.now(), workspaceId],
    );
    t.deepEqual(await channel.refresh(), { ...nothing, read: 2 * count });
  }

  const [sums] = (await run(
    `select count(*)::int as posts, sum(likes)::int as likes, sum(unread)::int as unread
      from post_metrics where workspace_id = ? and scope = 'all'`,
    [workspaceId],
  )) as object[];
  t.deepEqual(sums, { posts: count, likes: 2 * count * rounds, unread: 0 });
});

test('requested reads at a server that hangs take half of its slots, and the schedule reads the others', async (t) => {
  const channel = await newChannel(t);
  const { network, workspaceId } = channel;
  const posts = [];
  for (let nr = 0; nr < 9; nr += 1) {
    posts.push(await channel.publish({ likes: 1 }));
  }

  channel.pass(15 * minute);
  const answer = Promise.withResolvers<void>();
  network.onRead = () => answer.promise;
  const refreshes = posts.map(({ postId }) => channel.refresh({ post: { workspaceId, postId } }));
  t.deepEqual(await Promise.race(refreshes), { ...nothing, postponed: 1 });
  answer.resolve();
  await Promise.all(refreshes);
  t.is(network.reads.length, 8);
  channel.pass(minute);
  t.deepEqual(await channel.refresh(), { ...nothing, read: 1 });
});
