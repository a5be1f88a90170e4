import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { bundleWorkflows } from '../../worker/bundle-workflows.ts';
import { inTurn, status } from '../support/answers.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { fakeNetwork, type FakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { rendezvous } from '../support/rendezvous.ts';
import { fakeChannel } from '../support/seed.ts';
import { untilBegun } from '../support/until-begun.ts';
import { startWebhooks } from '../support/webhooks.ts';

const test = needs('temporal');

/** A service whose worker runs the workflows of the previous version. */
const shared = beforeTests(test, async (scope) => {
  const api = await startWebhooks(scope);
  const bundle = bundleWorkflows(fileURLToPath(new URL('workflows/index.ts', import.meta.url)));
  const stopPrevious = await startWorkers(scope, api.punctual, { bundle });
  const takeOver = async (): Promise<void> => {
    await stopPrevious();
    await startWorkers(scope, api.punctual);
  };
  return { api, takeOver };
});

/** Starts this version once every test is ready for it. */
const takeOver = rendezvous(test, () => shared().takeOver());

/** A workspace with a channel on each of these networks. */
async function workspace(...networks: readonly FakeNetwork[]) {
  const { punctual, newClient } = shared().api;
  const client = await newClient();
  const channel_ids: string[] = [];
  for (const network of networks) {
    channel_ids.push(await fakeChannel(punctual, client.workspaceId, network));
  }

  const at = (inMs: number): string => new Date(Date.now() + inMs).toISOString();
  return {
    client,
    schedule: async (inMs: number): Promise<string> => {
      const content = { body: 'Hello', channel_ids, scheduled_at: at(inMs) };
      return (await client.post('/posts', content)).body.post.id;
    },
    move: (post: string, inMs: number) =>
      client.patch(`/posts/${post}`, { scheduled_at: at(inMs) }),
    handleOf: (post: string) => punctual.temporal.client.workflow.getHandle(`post-${post}`),
  };
}

test('a post that fell asleep under the previous version goes out under this one', async (t) => {
  const good = fakeNetwork();
  const { client, schedule, handleOf } = await workspace(good);
  const post = await schedule(20_000);
  const handle = await untilBegun(handleOf(post), 5);
  await takeOver(t);

  t.is((await client.finalPost(post)).status, 'published');
  t.is(await handle.result(), 'published');
  t.is(good.sends.length, 1);
  await mustHaveGoneOn(t, handle);
});

test('a post that was rescheduled under the previous version keeps its time, and can be rescheduled again', async (t) => {
  const good = fakeNetwork();
  const { client, schedule, move, handleOf } = await workspace(good);
  const [once, twice] = [await schedule(3_600_000), await schedule(3_600_000)];
  for (const post of [once, twice]) {
    await untilBegun(handleOf(post), 5);
    await move(post, post === once ? 20_000 : 7_200_000);
    await untilBegun(handleOf(post), 11);
  }

  await takeOver(t);
  await move(twice, 1000);

  for (const post of [once, twice]) {
    t.is((await client.finalPost(post)).status, 'published');
    t.is(await handleOf(post).result(), 'published');
    await mustHaveGoneOn(t, handleOf(post));
  }

  t.is(good.sends.length, 2);
});

test('a post that fell asleep under the previous version can be cancelled under this one', async (t) => {
  const good = fakeNetwork();
  const { client, schedule, handleOf } = await workspace(good);
  const post = await schedule(3_600_000);
  const handle = await untilBegun(handleOf(post), 5);
  await takeOver(t);

  t.is((await client.post(`/posts/${post}/cancel`)).status, 200);

  t.is(await handle.result(), 'canceled');
  t.is(good.sends.length, 0);
  await mustHaveGoneOn(t, handle);
});

test('a post that the previous version sent to one of its channels is sent to the other one by this version', async (t) => {
  const [good, busy] = [fakeNetwork(), fakeNetwork()];
  const { client, schedule, handleOf } = await workspace(good, busy);
  const retryAtMs = Date.now() + 20_000;
  const limited = new NetworkError('rate_limited', 'Wait.', { accepted: 'no', retryAtMs });
  busy.fates.push({ kind: 'fails', error: limited });
  const post = await schedule(0);
  await poll(
    async () => (await client.get(`/posts/${post}`)).body.post.channels,
    ([first, second]) => first?.status === 'published' && second?.status === 'retrying',
  );
  await takeOver(t);

  t.is((await client.finalPost(post)).status, 'published');
  t.is(await handleOf(post).result(), 'published');
  t.deepEqual([good.sends.length, busy.live.length], [1, 1]);
  await mustHaveGoneOn(t, handleOf(post));
});

test('a delivery that the previous version began is attempted again by this one', async (t) => {
  const { punctual, receiver: newReceiver } = shared().api;
  const receiver = newReceiver(inTurn(status(500), status(204)));
  const { client, schedule } = await workspace(fakeNetwork());
  const hook = { url: receiver.url, events: ['post.published'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  await schedule(0);
  await receiver.nth(1);
  const [row] = await punctual.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [
      client.workspaceId,
    ]);
  const handle = punctual.temporal.client.workflow.getHandle(`delivery-${row?.id}`);
  await poll(
    async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt ?? 0,
    (attempt) => attempt === 2,
  );
  await takeOver(t);
  // Only the row's time makes the attempt due earlier.
  await punctual.orm.em
    .fork()
    .execute('update deliveries set next_attempt_at = now() where id = ?', [row?.id]);
  await punctual.temporal.connection.workflowService.resetActivity({
    namespace: punctual.temporal.namespace,
    execution: { workflowId: handle.workflowId },
    type: 'attemptDelivery',
  });

  t.is((await client.finalDelivery(webhook.id)).status, 'delivered');
  t.is(await handle.result(), 'delivered');
  t.is(receiver.arrived.length, 2);
  await mustHaveGoneOn(t, handle);
});

/** Checks that no workflow task failed, so the new code replayed the history and continued. */
async function mustHaveGoneOn(t: ExecutionContext, handle: WorkflowHandle): Promise<void> {
  const { events } = await handle.fetchHistory();
  const failed = events?.filter((event) => event.workflowTaskFailedEventAttributes) ?? [];
  t.deepEqual(failed, []);
}
