import { fileURLToPath } from 'node:url';
import { postsQueue } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { endedPost, storeChannel } from '../support/seed.ts';
import { killed, spawnWorker } from '../support/worker-process.ts';

const main = fileURLToPath(new URL('measuring-worker.ts', import.meta.url));

needs('temporal')(
  'a worker that is killed during a refresh leaves the metrics unchanged, and another one reads them',
  async (t) => {
    const punctual = await startApi(t);
    const { orm, temporal } = punctual;
    const client = await newClient(punctual);
    const channel = await storeChannel(punctual, client.workspaceId);
    const post = await endedPost(punctual, client, new Map([[channel, 'published']]));
    const run = <T>(sql: string, values: readonly unknown[]): Promise<T[]> =>
      orm.em.fork().execute<T[]>(sql, values);
    await run(
      `update post_channels set published_at = now() - interval '1 hour', metrics = '{"likes": 5}',
        metrics_updated_at = now() - interval '30 minutes', next_metrics_at = now() where post_id = ?`,
      [post],
    );
    await run(
      `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, remote_id, url, created_at, updated_at)
        select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id::text, 'sent', 'x', 'null', id::text, 'x', now(), now()
        from post_channels where post_id = ?`,
      [post],
    );
    const likes = async (): Promise<number> =>
      (await client.get(`/analytics?post_id=${post}`)).body.totals.likes;
    const start = (workflowId: string) =>
      temporal.client.workflow.start('refreshMetrics', {
        taskQueue: postsQueue,
        workflowId,
        args: [{ networks: ['mastodon'] }],
      });

    const hanging = spawnWorker(t, punctual, [], main, { MEASURING_HANGS: 'yes' });
    await hanging.logged('polling');
    const first = await start('first');
    await hanging.logged('asked for figures');
    await killed(hanging.child);
    t.is(await likes(), 5);

    const other = spawnWorker(t, punctual, [], main);
    await other.logged('polling');
    // The dead worker holds the post until its lease ends, so no second read follows.
    t.like(await first.result(), { read: 0, unread: [] });
    t.is(await likes(), 5);
    await run(
      `update post_channels set next_metrics_at = next_metrics_at - interval '15 minutes' where post_id = ?`,
      [post],
    );
    const second = await start('second');
    t.like(await second.result(), { unread: [] });
    t.is(await poll(likes, (count) => count !== 5), 7); // The schedule's own refresh may be running.
  },
);
