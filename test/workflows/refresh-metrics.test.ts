import type { ExecutionContext } from 'ava';
import { ensureSchedule, metricsSchedule } from '../../worker/schedules.ts';
import { metricsScheduleId, postsQueue } from '../../workflows/messages.ts';
import { measuredNetwork, read } from '../activities/measured-network.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { addFakeChannel } from '../support/seed.ts';

const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0, unread: [] };

/** A network with metrics, and workers for it. */
async function world(t: ExecutionContext) {
  const network = measuredNetwork();
  const punctual = await startApi(t, { networks: { [network.id]: network } });
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId, network.id);
  return { network, punctual, client, channel };
}

/** Starts a refresh as the schedule does. */
const start = ({ temporal, deps }: Punctual) =>
  temporal.client.workflow.start('refreshMetrics', {
    taskQueue: postsQueue,
    workflowId: `metrics-${crypto.randomUUID()}`,
    args: [{ networks: Object.keys(deps.networks) }],
  });

needs('temporal')('the schedule reads the metrics of due posts', async (t) => {
  const { network, punctual, client, channel } = await world(t);
  const { orm, temporal } = punctual;
  const scheduled_at = new Date(Date.now() + 500).toISOString();
  const request = { body: 'Measured', channel_ids: [channel], scheduled_at };
  const { id } = (await client.post('/posts', request)).body.post;
  await client.finalPost(id);
  network.figures.set(network.live[0]?.sent.remoteId ?? '', read({ likes: 7 }));
  await orm.em.fork().execute('update post_channels set next_metrics_at = now()');

  const schedule = metricsSchedule([network.id]);
  await ensureSchedule(temporal.client, schedule, 'ours');
  await ensureSchedule(temporal.client, schedule, 'ours');
  await temporal.client.schedule.getHandle(metricsScheduleId).trigger();
  const sums = (): Promise<{ likes: string }[]> =>
    orm.em
      .fork()
      .execute(`select likes from post_metrics where post_id = ? and scope = 'all'`, [id]);
  const [sum] = await poll(sums, ([first]) => first?.likes !== '0');
  t.is(sum?.likes, '7');
});

needs('temporal')('a network that fails does not stop the reads of the others', async (t) => {
  const [network, failing] = [measuredNetwork(), measuredNetwork()];
  const punctual = await startApi(t, {
    networks: { [network.id]: network, [failing.id]: failing },
  });
  await startWorkers(t, punctual, {
    adapt: (activities) => ({
      ...activities,
      refreshMetrics: (request) =>
        request.network === failing.id
          ? Promise.reject(new Error('It fails.'))
          : activities.refreshMetrics(request),
    }),
  });
  const handle = await start(punctual);
  t.deepEqual(await handle.result(), { ...nothing, unread: [failing.id] });
});
