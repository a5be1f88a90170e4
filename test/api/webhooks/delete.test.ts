import test from 'ava';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../../workflows/messages.ts';
import { newClient } from '../../support/client.ts';
import { needs } from '../../support/needs.ts';
import { startApi, startPunctual } from '../../support/punctual.ts';
import { startReceiver } from '../../support/receiver.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';

const testWithTemporal = needs('temporal');
const events = ['post.failed'];

test('a deleted endpoint is gone with its deliveries, makes room for another, and ends nobody else’s', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const ids: string[] = [];
  for (let n = 0; n < 10; n += 1) {
    const hook = { url: `https://8.8.8.8/${n}`, events };
    ids.push((await client.post('/webhooks', hook)).body.webhook.id);
  }
  const [first, second] = ids;
  await storeDelivery(punctual, client.workspaceId, 'pending');
  await storeDelivery(punctual, client.workspaceId, 'failed');

  const reply = await client.delete(`/webhooks/${first}`);

  t.is(reply.status, 200);
  t.deepEqual(reply.body, { ok: true, id: first });
  t.is((await client.get(`/webhooks/${first}`)).status, 404);
  t.is((await client.delete(`/webhooks/${first}`)).status, 404);
  t.is((await client.get('/webhooks')).body.webhooks.length, 9);
  t.is((await client.get(`/webhooks/${second}`)).body.deliveries.length, 2);
  t.is((await client.post('/webhooks', { url: 'https://8.8.8.8/new', events })).status, 201);
});

test('another workspace’s endpoint cannot be deleted, nor one that is not there', async (t) => {
  const punctual = await startApi(t);
  const [mine, other] = [await newClient(punctual), await newClient(punctual)];
  const hook = { url: 'https://8.8.8.8/hook', events };
  const { id } = (await mine.post('/webhooks', hook)).body.webhook;
  for (const one of [id, crypto.randomUUID(), 'nonsense']) {
    const reply = await other.delete(`/webhooks/${one}`);
    t.is(reply.status, 404);
    t.is(reply.body.code, 'not_found');
  }

  t.is((await mine.get(`/webhooks/${id}`)).status, 200);
});

testWithTemporal(
  'a delivery that waits in Temporal ends by itself when its endpoint is deleted, and nothing is sent',
  async (t) => {
    const receiver = await startReceiver(t);
    const punctual = await startPunctual(t, { allowPorts: [receiver.port] });
    const client = await newClient(punctual);
    const hook = { url: receiver.url, events };
    const { id } = (await client.post('/webhooks', hook)).body.webhook;
    const { workspaceId } = client;
    const deliveryId = await storeDelivery(punctual, workspaceId, 'pending');
    await client.delete(`/webhooks/${id}`);

    // As after its wait: the next attempt begins.
    const ended = await punctual.temporal.client.workflow.execute('deliverWebhook', {
      workflowId: deliveryWorkflowId(deliveryId),
      taskQueue: webhooksQueue,
      args: [{ workspaceId, deliveryId }],
    });

    t.is(ended, 'gone');
    t.is(receiver.received.length, 0);
  },
);

test('an endpoint that is deleted while an attempt is under way leaves nothing behind', async (t) => {
  const receiver = await startReceiver(t, () => 500);
  const punctual = await startApi(t, { allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  const hook = { url: receiver.url, events };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  const deliveryId = await storeDelivery(punctual, client.workspaceId, 'pending');
  const { egress } = punctual.deps;
  const request = egress.request.bind(egress);
  egress.request = async (outgoing) => {
    const answer = await request(outgoing);
    await client.delete(`/webhooks/${id}`);
    return answer;
  };

  t.is(
    await attemptDelivery(punctual.deps, { workspaceId: client.workspaceId, deliveryId }),
    'gone',
  );
  t.is(receiver.received.length, 1);
});
