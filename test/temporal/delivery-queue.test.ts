import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../workflows/messages.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { startApi, startPunctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { nativeConnection, sharedBundle } from '../support/temporal.ts';

const test = needs('temporal');

test('a webhook goes out although no worker takes a task of the posts', async (t) => {
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  const deliveryId = await storeDelivery(punctual, client.workspaceId, 'failed');
  await client.post(`/webhooks/${id}/deliveries/${deliveryId}/replay`);
  const worker = await Worker.create({
    connection: await nativeConnection(t, punctual.temporalEnv['TEMPORAL_ADDRESS'] ?? ''),
    namespace: punctual.temporal.namespace,
    taskQueue: webhooksQueue,
    workflowBundle: await sharedBundle(),
    activities: createActivities(punctual.deps),
  });

  await worker.runUntil(
    punctual.temporal.client.workflow.getHandle(deliveryWorkflowId(deliveryId)).result(),
  );

  t.is((await client.finalDelivery(id)).status, 'delivered');
  t.is(receiver.received.length, 1);
});

test("a post's webhooks stand in the line of webhooks, not in that of posts", async (t) => {
  const receiver = await startReceiver(t);
  const networks = { fake: fakeNetwork() };
  const punctual = await startPunctual(t, { networks, allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  const hook = { url: receiver.url, events: ['post.published'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  await client.post('/posts', {
    body: 'Hello',
    channel_ids: [await addFakeChannel(punctual.deps, client.workspaceId)],
    schedule_in_minutes: 0,
  });

  const delivery = await client.finalDelivery(id);

  t.is(delivery.status, 'delivered');
  const workflow = punctual.temporal.client.workflow.getHandle(deliveryWorkflowId(delivery.id));
  t.is((await workflow.describe()).taskQueue, webhooksQueue);
});
