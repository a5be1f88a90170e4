import type { ExecutionContext } from 'ava';
import { defaultPayloadConverter } from '@temporalio/common';
import { ensureSchedule, metricsSchedule } from '../../worker/schedules.ts';
import { networkLabel } from '../../workflows/details.ts';
import { metricsScheduleId, postsQueue } from '../../workflows/messages.ts';
import { measuredNetwork, read } from '../activities/measured-network.ts';
import { newClient } from '../support/client.ts';
import { measureWithin, costOf } from '../support/cost-of.ts';
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

needs('temporal')('a worker of a version with other networks updates the schedule', async (t) => {
  const { temporal } = await startApi(t);
  const { client } = temporal;
  await ensureSchedule(client, metricsSchedule(['b', 'a']), 'ours');
  await ensureSchedule(client, metricsSchedule(['c', 'a', 'b']), 'ours');
  const { action } = await client.schedule.getHandle(metricsScheduleId).describe();
  t.deepEqual(action.args, [{ networks: ['a', 'b', 'c'] }]);
});

needs('temporal')('the summaries of a refresh name the network of each activity', async (t) => {
  const networks = [measuredNetwork(), measuredNetwork()];
  const punctual = await startApi(t, {
    networks: Object.fromEntries(networks.map((network) => [network.id, network])),
  });
  await startWorkers(t, punctual);
  const handle = await start(punctual);
  await handle.result();
  const { events } = await handle.fetchHistory();
  const summaries = (events ?? []).flatMap(({ userMetadata }) =>
    userMetadata?.summary
      ? [defaultPayloadConverter.fromPayload<string>(userMetadata.summary)]
      : [],
  );
  for (const { id } of networks) {
    t.true(summaries.includes(`Read metrics of ${networkLabel(id)}`), summaries.join());
  }
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

needs('temporal')(
  'the Temporal cost of a refresh does not depend on the number of posts that are not due',
  async (t) => {
    const { punctual, client, channel } = await world(t);
    const costs: number[] = [];
    let stored = 0;
    for (const posts of [10, 1000, 10_000]) {
      await storeNotDue(punctual, client.workspaceId, channel, posts - stored);
      stored = posts;
      const measure = async () => {
        const handle = await start(punctual);
        t.deepEqual(await handle.result(), nothing);
        return costOf(handle);
      };
      const { events, actions } = await measureWithin(measure, { events: 11 });
      t.log(`${posts} posts that are not due: ${events} events, ${actions} actions`);
      costs.push(events);
    }

    t.deepEqual(costs, [11, 11, 11]);
  },
);

const insertNotDue = `
  with stored as (
    insert into posts (id, workspace_id, status, body, scheduled_at, published_at, revision, synced_revision, run, created_at, updated_at)
      select gen_random_uuid(), ?, 'published', 'x', now(), now(), 1, 1, 1, now(), now() from generate_series(1, ?)
      returning id)
  insert into post_channels (id, workspace_id, post_id, channel_id, position, status, tries, published_at, next_metrics_at)
    select gen_random_uuid(), ?, id, ?, 0, 'published', 1, now(), now() + interval '1 hour' from stored`;

/** Stores published posts whose metrics are due in an hour. */
async function storeNotDue(
  { orm }: Punctual,
  workspaceId: string,
  channelId: string,
  count: number,
): Promise<void> {
  const em = orm.em.fork();
  await em.execute(insertNotDue, [workspaceId, count, workspaceId, channelId]);
  await em.execute('analyze posts, post_channels');
}
