import test from 'ava';
import { sharedDatabase } from '../support/kit.ts';
import { poll } from '../support/poll.ts';
import { measuredChannel, measuredNetwork } from './measured-network.ts';

const minute = 60_000;
const database = sharedDatabase(test);
const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

test('metrics are recorded without a second read when the database connection breaks meanwhile', async (t) => {
  const channel = await measuredChannel(t, database().url, measuredNetwork({ readsPerMonth: 10 }));
  const { deps, network } = channel;
  const post = await channel.publish({ likes: 3 });
  channel.pass(15 * minute);
  const em = deps.orm.em.fork();
  let refreshing: ReturnType<typeof channel.refresh> | undefined;
  await em.transactional(async (holder) => {
    await holder.execute('select 1 from post_metrics where post_id = ? for update', [post.postId]);
    const [me] = await holder.execute<{ pid: number }[]>('select pg_backend_pid() as pid');
    refreshing = channel.refresh({}, channel.newWorker());
    const recording = await poll(
      () =>
        deps.orm.em
          .fork()
          .execute<{ pid: number }[]>(
            'select pid from pg_stat_activity where ? = any(pg_blocking_pids(pid))',
            [me?.pid],
          ),
      (waiting) => waiting.length > 0,
    );
    for (const { pid } of recording) {
      await deps.orm.em.fork().execute('select pg_terminate_backend(?, 5000)', [pid]);
    }
  });
  t.deepEqual(await refreshing, { ...nothing, read: 1 });
  t.deepEqual((await post.row()).metrics, { likes: 3 });
  t.deepEqual(network.reads, [[post.remoteId]]);
  t.deepEqual(
    await em.execute('select likes::int from post_metrics where post_id = ? and scope = ?', [
      post.postId,
      'all',
    ]),
    [{ likes: 3 }],
  );
});
