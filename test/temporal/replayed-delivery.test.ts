import type { ExecutionContext } from 'ava';
import { beginRound } from '../../api/webhooks/begin-round.ts';
import { relayOnce, type RelayDeps } from '../../worker/relay.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../workflows/messages.ts';
import { storeDelivery } from '../support/seed-deliveries.ts';
import { newClient } from '../support/client.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { targetOf, tcpGate } from '../support/tcp-gate.ts';
import { freshNamespace, testLog } from '../support/temporal.ts';

const test = needs('temporal');

/** A Punctual without workers, with one endpoint. */
async function world(t: ExecutionContext, temporalEnv?: Record<string, string>) {
  const receiver = await startReceiver(t);
  const options = { allowPorts: [receiver.port], ...(temporalEnv ? { temporalEnv } : {}) };
  const punctual = await startApi(t, options);
  const client = await newClient(punctual);
  const { workspaceId } = client;
  const hook = { url: receiver.url, events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  const deps: RelayDeps = { ...punctual, client: punctual.temporal.client, log: testLog };
  const path = `/webhooks/${id}`;
  const replay = (deliveryId: string) => client.post(`${path}/deliveries/${deliveryId}/replay`);
  return { receiver, punctual, client, workspaceId, id, deps, path, replay };
}

/** What an API leaves behind that ends right after its commit: a new round that Temporal was never told of. */
async function beginUntold({ orm }: Punctual, workspaceId: string, id: string): Promise<void> {
  await orm.em
    .fork()
    .transactional((em) =>
      beginRound(em, workspaceId, new Date(), { which: 'id = ?', values: [id] }),
    );
}

const untold = async ({ orm }: Punctual): Promise<number> => {
  const sql = 'select id from deliveries where synced_round < round';
  return (await orm.em.fork().execute<unknown[]>(sql)).length;
};

const start = ({ temporal }: Punctual, workspaceId: string, deliveryId: string) =>
  temporal.client.workflow.start('deliverWebhook', {
    workflowId: deliveryWorkflowId(deliveryId),
    taskQueue: webhooksQueue,
    args: [{ workspaceId, deliveryId }],
  });

test('a replay that Temporal never heard of is begun by the relay, once', async (t) => {
  const { receiver, punctual, client, workspaceId, id, deps } = await world(t);
  const deliveryId = await storeDelivery(punctual, workspaceId, 'failed');
  await beginUntold(punctual, workspaceId, deliveryId);

  t.is(await relayOnce(deps), 1);
  t.is(await relayOnce(deps), 0);

  const handle = punctual.temporal.client.workflow.getHandle(deliveryWorkflowId(deliveryId));
  const { events } = await handle.fetchHistory();
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const input = JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8'));
  t.deepEqual(input, { workspaceId, deliveryId, round: 2 });
  await startWorkers(t, punctual);
  t.is((await client.finalDelivery(id)).status, 'delivered');
  t.is(await handle.result(), 'delivered');
  t.is(receiver.received.length, 1);
});

test('a new round that is told of twice is delivered once', async (t) => {
  const { receiver, punctual, client, workspaceId, id, deps } = await world(t);
  const deliveryId = await storeDelivery(punctual, workspaceId, 'failed');
  await beginUntold(punctual, workspaceId, deliveryId);
  t.is(await relayOnce(deps), 1);
  await punctual.orm.em.execute('update deliveries set synced_round = 1');
  t.is(await relayOnce(deps), 1);

  await startWorkers(t, punctual);
  await client.finalDelivery(id);
  await punctual.temporal.client.workflow.getHandle(deliveryWorkflowId(deliveryId)).result();

  t.is(receiver.received.length, 1);
});

test('a replay while the workflow of the round before has not ended yet is delivered by that workflow', async (t) => {
  const { receiver, punctual, client, workspaceId, id, replay } = await world(t);
  const deliveryId = await storeDelivery(punctual, workspaceId, 'delivered');
  const handle = await start(punctual, workspaceId, deliveryId); // No worker has looked at it.
  const { runId } = await handle.describe();

  t.is((await replay(deliveryId)).status, 202);
  await poll(
    () => untold(punctual),
    (count) => count === 0,
  );
  await startWorkers(t, punctual);

  t.is((await client.finalDelivery(id)).status, 'delivered');
  t.is(await handle.result(), 'delivered');
  t.is((await handle.describe()).runId, runId);
  t.is(receiver.received.length, 1);
});

test('replays that come while a workflow is about to end are all delivered, and none needs the relay', async (t) => {
  const { receiver, punctual, client, workspaceId, id, replay } = await world(t);
  const deliveryId = await storeDelivery(punctual, workspaceId, 'pending');
  await startWorkers(t, punctual);
  await start(punctual, workspaceId, deliveryId);

  for (let round = 2; round <= 25; round += 1) {
    // The row says so before Temporal does: the replay meets a workflow that is closing, or closed just now.
    await poll(
      async () => (await replay(deliveryId)).status,
      (status) => status === 202,
    );
  }

  const delivery = await client.finalDelivery(id);
  t.is(delivery.status, 'delivered');
  t.is(delivery.attempts.length, 25);
  t.is(receiver.received.length, 25);
});

test('a replay is accepted while Temporal is away, and delivered when it is back', async (t) => {
  const real = await freshNamespace();
  const gate = await tcpGate(t, targetOf(real['TEMPORAL_ADDRESS'] ?? '', 7233));
  const { receiver, punctual, client, workspaceId, id, replay } = await world(t, {
    ...real,
    TEMPORAL_ADDRESS: gate.address,
  });
  const deliveryId = await storeDelivery(punctual, workspaceId, 'failed');
  await gate.close();
  t.is((await replay(deliveryId)).status, 202);
  t.is((await client.get(`/webhooks/${id}`)).body.webhook.last_delivery.status, 'pending');
  t.is(await untold(punctual), 1);

  await gate.open();
  await startWorkers(t, punctual);

  t.is((await client.finalDelivery(id)).status, 'delivered');
  t.is(receiver.received.length, 1);
});

test('a hundred and fifty deliveries that failed are all sent again, most of them by the relay', async (t) => {
  const { receiver, punctual, client, workspaceId, path } = await world(t);
  for (let n = 0; n < 150; n += 1) {
    await storeDelivery(punctual, workspaceId, 'failed', new Date(Date.UTC(2027, 2, 1, 0, n)));
  }
  await startWorkers(t, punctual);

  const reply = await client.post(`${path}/replay?since=2027-01-01T00:00:00Z`);

  t.deepEqual(reply.body, { replaying: 150 });
  await receiver.nth(150);
  await poll(
    async () => (await client.get(`${path}/deliveries?status=pending`)).body.deliveries.length,
    (count) => count === 0,
  );
  t.is(receiver.received.length, 150);
  t.is(new Set(receiver.received.map(({ headers }) => headers['service-event-id'])).size, 150);
});
