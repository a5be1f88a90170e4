import test from 'ava';
import { sharedDatabase } from '../support/kit.ts';
import { addFakeChannel } from '../support/seed.ts';
import { measuredChannel, measuredNetwork, read } from './measured-network.ts';

const minute = 60_000;
const database = sharedDatabase(test);
const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

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
