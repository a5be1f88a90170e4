import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { bundleWorkflows } from '../../worker/bundle-workflows.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { untilBegun } from '../support/until-begun.ts';

const test = needs('temporal');

test('a post that fell asleep under the version before goes out under this one', async (t) => {
  const { good, client, schedule, handleOf, takeOver } = await world(t);
  const post = await schedule(9000);
  const handle = await untilBegun(handleOf(post), 5);
  await takeOver();

  t.is((await client.finalPost(post)).status, 'published');
  t.is(await handle.result(), 'published');
  t.is(good.sends.length, 1);
  await mustHaveGoneOn(t, handle);
});

test('a post that was moved under the version before keeps its time, and can be moved again', async (t) => {
  const { good, client, schedule, move, handleOf, takeOver } = await world(t);
  const [once, twice] = [await schedule(3_600_000), await schedule(3_600_000)];
  for (const post of [once, twice]) {
    await untilBegun(handleOf(post), 5);
    await move(post, post === once ? 12_000 : 7_200_000);
    await untilBegun(handleOf(post), 11);
  }

  await takeOver();
  await move(twice, 1000);

  for (const post of [once, twice]) {
    t.is((await client.finalPost(post)).status, 'published');
    t.is(await handleOf(post).result(), 'published');
    await mustHaveGoneOn(t, handleOf(post));
  }

  t.is(good.sends.length, 2);
});

test('a post that fell asleep under the version before can be cancelled under this one', async (t) => {
  const { good, client, schedule, handleOf, takeOver } = await world(t);
  const post = await schedule(3_600_000);
  const handle = await untilBegun(handleOf(post), 5);
  await takeOver();

  t.is((await client.post(`/posts/${post}/cancel`)).status, 200);

  t.is(await handle.result(), 'canceled');
  t.is(good.sends.length, 0);
  await mustHaveGoneOn(t, handle);
});

test('a post that the version before had sent to one of its channels is sent to the other by this one', async (t) => {
  const { good, busy, client, schedule, handleOf, takeOver } = await world(t, ['good', 'busy']);
  const retryAtMs = Date.now() + 10_000;
  const limited = new NetworkError('rate_limited', 'Wait.', { taken: 'no', retryAtMs });
  busy.fates.push({ kind: 'fails', error: limited });
  const post = await schedule(0);
  await poll(
    async () => (await client.get(`/posts/${post}`)).body.post.channels,
    ([first, second]) => first?.status === 'published' && second?.status === 'retrying',
  );
  await takeOver();

  t.is((await client.finalPost(post)).status, 'published');
  t.is(await handleOf(post).result(), 'published');
  t.deepEqual([good.sends.length, busy.live.length], [1, 1]);
  await mustHaveGoneOn(t, handleOf(post));
});

test('a delivery that the version before had begun is attempted again by this one', async (t) => {
  const { punctual, receiver, client, schedule, takeOver } = await world(t);
  const events = ['post.published'];
  const { body } = await client.post('/webhooks', { url: receiver.url, events });
  await schedule(0);
  await receiver.nth(1);
  const [row] = await poll(
    () => punctual.orm.em.fork().execute<{ id: string }[]>('select id from deliveries'),
    (rows) => rows.length === 1,
  );
  const handle = punctual.temporal.client.workflow.getHandle(`delivery-${row?.id}`);
  await poll(
    async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt ?? 0,
    (attempt) => attempt === 2,
  );
  await takeOver();
  // As if the minute were over: nothing else makes an attempt come sooner.
  await punctual.orm.em
    .fork()
    .execute('update deliveries set next_attempt_at = now() where id = ?', [row?.id]);
  await punctual.temporal.connection.workflowService.resetActivity({
    namespace: punctual.temporal.namespace,
    execution: { workflowId: handle.workflowId },
    type: 'attemptDelivery',
  });

  t.is((await client.finalDelivery(body.webhook.id)).status, 'delivered');
  t.is(await handle.result(), 'delivered');
  t.is(receiver.received.length, 2);
  await mustHaveGoneOn(t, handle);
});

/** No task of the workflow has failed: the code has done what the history says, and went on from there. */
async function mustHaveGoneOn(t: ExecutionContext, handle: WorkflowHandle): Promise<void> {
  const { events } = await handle.fetchHistory();
  const failed = events?.filter((event) => event.workflowTaskFailedEventAttributes) ?? [];
  t.deepEqual(failed, []);
}

/** A Punctual whose worker runs the workflows of the version before, until this version takes over. */
async function world(t: ExecutionContext, platforms: readonly string[] = ['good']) {
  const networks = { good: fakeNetwork(), busy: fakeNetwork() };
  const receiver = await startReceiver(t, (n) => (n === 1 ? 500 : 204));
  const punctual = await startApi(t, { networks, allowPorts: [receiver.port] });
  const stopPrevious = await startWorkers(t, punctual, { bundle: previousBundle() });
  const client = await newClient(punctual);
  const channel_ids: string[] = [];
  for (const platform of platforms) {
    channel_ids.push(await addFakeChannel(punctual.deps, client.workspaceId, platform));
  }

  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  return {
    punctual,
    ...networks,
    receiver,
    client,
    schedule: async (inMs: number): Promise<string> => {
      const { body } = await client.post('/posts', {
        body: 'Hello',
        channel_ids,
        scheduled_at: at(inMs),
      });
      return body.post.id;
    },
    move: (post: string, inMs: number) =>
      client.patch(`/posts/${post}`, { scheduled_at: at(inMs) }),
    handleOf: (post: string) => punctual.temporal.client.workflow.getHandle(`post-${post}`),
    takeOver: async () => {
      await stopPrevious();
      await startWorkers(t, punctual);
    },
  };
}

let previous: ReturnType<typeof bundleWorkflows> | undefined;

function previousBundle(): ReturnType<typeof bundleWorkflows> {
  previous ??= bundleWorkflows(fileURLToPath(new URL('workflows/index.ts', import.meta.url)));
  return previous;
}
