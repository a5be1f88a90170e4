import { Worker } from '@temporalio/worker';
import type { ExecutionContext } from 'ava';
import { createActivities } from '../../activities/index.ts';
import { beginRounds } from '../../db/delivery-list.ts';
import { relayOnce, type RelayDeps } from '../../worker/relay.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../workflows/messages.ts';
import { inTurn, status } from '../support/answers.ts';
import { beforeTests } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { nativeConnection, sharedBundle, testLog } from '../support/temporal.ts';
import { startWebhooks, type Subscription } from '../support/webhooks.ts';

const test = needs('temporal');

const webhooks = beforeTests(test, async (scope) => {
  const api = await startWebhooks(scope);
  let workers: Promise<unknown> | undefined;
  return { api, startWorkers: () => (workers ??= startWorkers(scope, api.punctual)) };
});

/** An endpoint that accepts everything. */
async function endpoint() {
  const { api } = webhooks();
  const subscription = await api.subscribe(status(204));
  const { client, path, webhookId } = subscription;
  return {
    ...subscription,
    replay: (deliveryId: string) => client.post(`${path}/deliveries/${deliveryId}/replay`),
    finalDelivery: () => client.finalDelivery(webhookId),
  };
}

const relay = (): RelayDeps => {
  const { orm, temporal } = webhooks().api.punctual;
  return { orm, client: temporal.client, log: testLog };
};

/** Runs a relay until it syncs a row. One run is enough, unless Temporal does not respond in time on a busy machine. */
const relayed = (): Promise<number> =>
  poll(
    () => relayOnce(relay()),
    (synced) => synced > 0,
  );

/** Begins a round without a sync, as an API does that exits right after its commit. */
const beginUntold = ({ workspaceId, webhookId }: Subscription, id: string): Promise<unknown> =>
  relay()
    .orm.em.fork()
    .transactional((em) => beginRounds(em, workspaceId, webhookId, { id }, 1));

const handleOf = (deliveryId: string) =>
  relay().client.workflow.getHandle(deliveryWorkflowId(deliveryId));

/** Starts a delivery's workflow. */
const start = ({ workspaceId }: Subscription, deliveryId: string) =>
  relay().client.workflow.start('deliverWebhook', {
    workflowId: deliveryWorkflowId(deliveryId),
    taskQueue: webhooksQueue,
    args: [{ workspaceId, deliveryId }],
  });

/** A worker for webhook tasks only, until the test ends. It runs no relay. */
async function startWebhookWorker(t: ExecutionContext): Promise<void> {
  const { punctual } = webhooks().api;
  const worker = await Worker.create({
    connection: await nativeConnection(t, punctual.temporalEnv['TEMPORAL_ADDRESS'] ?? ''),
    namespace: punctual.temporal.namespace,
    taskQueue: webhooksQueue,
    workflowBundle: await sharedBundle(),
    activities: createActivities(punctual.deps),
  });
  const running = worker.run();
  t.teardown(async () => {
    worker.shutdown();
    await running;
  });
}

// The relay and the workers of the other tests must not see these rows, so these tests come first and run serially.

test.serial('a replay that was never synced is started by the relay, once', async (t) => {
  const mine = await endpoint();
  const deliveryId = await mine.store('failed');
  await beginUntold(mine, deliveryId);

  t.is(await relayed(), 1);
  t.is(await relayOnce(relay()), 0);

  const handle = handleOf(deliveryId);
  const { events } = await handle.fetchHistory();
  const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const input = JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8'));
  t.deepEqual(input, { workspaceId: mine.workspaceId, deliveryId, round: 2 });
  await startWebhookWorker(t);
  t.is((await mine.finalDelivery()).status, 'delivered');
  t.is(await handle.result(), 'delivered');
  t.is(mine.receiver.arrived.length, 1);
});

test.serial('a new round that is synced twice is delivered once', async (t) => {
  const mine = await endpoint();
  const deliveryId = await mine.store('failed');
  await beginUntold(mine, deliveryId);
  t.is(await relayed(), 1);
  const { orm } = relay();
  await orm.em.fork().execute('update deliveries set synced_round = 1 where id = ?', [deliveryId]);
  t.is(await relayed(), 1);

  await startWebhookWorker(t);
  await mine.finalDelivery();
  await handleOf(deliveryId).result();

  t.is(mine.receiver.arrived.length, 1);
});

test('a replay sends a delivery that waits for its next attempt now, each time', async (t) => {
  const mine = await endpoint();
  const { client, path, receiver, shown } = mine;
  receiver.answer = inTurn(status(401), status(401), status(204));
  const deliveryId = await mine.store('pending');
  await webhooks().startWorkers();
  await start(mine, deliveryId);
  const waiting = (attempts: number) =>
    poll(
      () => shown(deliveryId),
      (delivery) => delivery.attempt_count === attempts,
    );

  const first = await waiting(1);
  t.is((await mine.replay(deliveryId)).status, 202);
  const second = await waiting(2);
  const replayed = await client.post(`${path}/replay?since=2020-01-01T00:00:00Z`);
  t.deepEqual(replayed.body, { replaying: 1 });

  const { status: end, attempts } = await mine.finalDelivery();
  t.is(end, 'delivered');
  t.true(String(attempts[1]?.created_at) < String(first.next_attempt_at));
  t.true(String(attempts[2]?.created_at) < String(second.next_attempt_at));
  t.is(await handleOf(deliveryId).result(), 'delivered');
  t.is(receiver.arrived.length, 3);
  t.is(new Set(receiver.arrived.map(({ body }) => body)).size, 1);
});

test('replays that arrive while a workflow is about to end are all delivered, without the relay', async (t) => {
  const mine = await endpoint();
  const deliveryId = await mine.store('pending');
  await webhooks().startWorkers();
  await start(mine, deliveryId);

  for (let round = 2; round <= 25; round += 1) {
    // The row ends before the workflow, so the replay meets one that is closing or has just closed.
    await poll(
      async () => (await mine.replay(deliveryId)).status,
      (code) => code === 202,
    );
  }

  const delivery = await mine.finalDelivery();
  t.is(delivery.status, 'delivered');
  t.is(delivery.attempts.length, 25);
  t.is(mine.receiver.arrived.length, 25);
});
