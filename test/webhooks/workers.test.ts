import type { ExecutionContext } from 'ava';
import type { DeliveryView } from '../../services/webhooks/read-deliveries.ts';
import { held, status } from '../support/answers.ts';
import { heldClock } from '../support/database-clock.ts';
import { ownPool } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { withoutTimeouts } from '../support/egress-without-timeouts.ts';
import { poll } from '../support/poll.ts';
import { startWorkers, type Punctual } from '../support/punctual.ts';
import { isSignedWith } from '../support/receiver.ts';
import { countDeliveries, queueEvents } from '../support/seed-deliveries.ts';
import { targetOf, tcpGate, throughGate } from '../support/tcp-gate.ts';
import { startWebhooks, type Subscription } from '../support/webhooks.ts';
import { killed, patientWorker, startWorkerProcess } from '../support/worker-process.ts';

// Tests that break a worker have services of their own, next to the file's. They wait for Temporal's timeouts, all in
// parallel.

const test = needs('temporal');
/** A dead worker's requests are taken over half a minute after they began. */
const patienceMs = 200_000;

/**
 * Two workers in two processes that share only the database. Their requests do not time out, and the database's clock
 * is stopped, so that a slow machine does not matter.
 */
async function startTwoWorkers(t: ExecutionContext, punctual: Punctual, port: number) {
  // Ahead of the machine's clock, so that all queued deliveries are due.
  const clock = await heldClock(t, punctual.databaseUrl, Date.now() + 3_600_000);
  const { orm, url: databaseUrl } = clock;
  const egress = withoutTimeouts(punctual.deps.egress);
  await Promise.all([
    startWorkers(t, { ...punctual, orm, deps: { ...punctual.deps, orm, webhooks: egress } }),
    startWorkerProcess(t, { ...punctual, databaseUrl }, [port], patientWorker),
  ]);
  return clock;
}

// Serial, because it is more work than all others of this file together.
test.serial(
  'two workers send four of 100 events each at a time to a hanging receiver, and 20 of another workspace meanwhile',
  async (t) => {
    const { punctual, port, subscribe } = await startWebhooks(t);
    const { answer, waiting, most, release } = held();
    const hanging = await subscribe(answer);
    const healthy = await subscribe(status(204));
    const { pass } = await startTwoWorkers(t, punctual, port);
    await queueEvents(punctual, hanging, 100);
    await hanging.receiver.nth(8);
    pass(1000); // The longer it hangs, the less often the others look for a slot.

    await queueEvents(punctual, healthy, 20);
    await healthy.receiver.nth(20);

    t.is(hanging.receiver.arrived.length, 8); // It has not responded until now.
    t.is(waiting(), 8);
    release(status(204));
    const seen = await poll(
      async () => [
        await countDeliveries(punctual, hanging),
        await countDeliveries(punctual, healthy),
      ],
      ([first]) => first?.['delivered'] === 100,
      patienceMs,
    );
    t.deepEqual(seen, [{ delivered: 100 }, { delivered: 20 }]);
    t.is(most(), 8);
    const ids = hanging.receiver.arrived.map(({ headers }) => headers['service-event-id']);
    t.is(new Set(ids).size, 100);
    t.is(ids.length, 100);
    t.is(healthy.receiver.arrived.length, 20);
  },
);

test('after a worker is killed between send and record, its events are sent once more, and each counts one attempt', async (t) => {
  const { punctual, port, subscribe } = await startWebhooks(t);
  const { answer, most } = held();
  const subscribed = await subscribe(answer);
  const { client, path, receiver, secret } = subscribed;
  // On a slow machine, the first request's ten seconds may end before the fourth one has begun.
  const first = await startWorkerProcess(t, punctual, [port], patientWorker);
  await queueEvents(punctual, subscribed, 4);
  await receiver.nth(4);
  t.is(most(), 4);
  await killed(first);
  receiver.answer = status(204);

  const egress = withoutTimeouts(punctual.deps.egress);
  await startWorkers(t, { ...punctual, deps: { ...punctual.deps, webhooks: egress } });
  await poll(
    () => countDeliveries(punctual, subscribed),
    ({ delivered }) => delivered === 4,
    patienceMs,
  );

  const arrivals = Map.groupBy(receiver.arrived, ({ headers }) => headers['service-event-id']);
  t.is(arrivals.size, 4);
  for (const [before, after, ...more] of arrivals.values()) {
    t.deepEqual(more, []); // At most one extra request.
    t.is(after?.body, before?.body);
    t.true(after && (await isSignedWith(secret, after)));
  }

  const { deliveries } = (await client.get(path)).body;
  t.is(deliveries.length, 4);
  for (const { status: end, attempts } of deliveries) {
    t.is(end, 'delivered');
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: 204, error: null });
  }
});

/** Workers that reach the database through a gate; API and test do not. */
async function startBehindGate(t: ExecutionContext) {
  const webhooks = await startWebhooks(t);
  const { punctual } = webhooks;
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const orm = ownPool(t, throughGate(punctual.databaseUrl, gate));
  const egress = withoutTimeouts(punctual.deps.egress);
  await startWorkers(t, { ...punctual, orm, deps: { ...punctual.deps, orm, webhooks: egress } });
  return { ...webhooks, gate };
}

/** Waits until Temporal has the failure to store the attempt. */
async function unrecorded(
  { orm, temporal }: Punctual,
  { workspaceId }: Subscription,
): Promise<void> {
  const [row] = await orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [workspaceId]);
  const handle = temporal.client.workflow.getHandle(`delivery-${row?.id}`);
  await poll(
    async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt ?? 0,
    (attempts) => attempts >= 2,
  );
}

const answers: readonly [number, DeliveryView['status']][] = [
  [204, 'delivered'],
  [500, 'pending'],
];

test('a PostgreSQL outage during requests loses nothing, and counts no attempt', async (t) => {
  const { punctual, gate, subscribe } = await startBehindGate(t);
  const sent = await Promise.all(
    answers.map(async ([code, end]) => {
      const { answer, release } = held();
      const subscribed = await subscribe(answer);
      await queueEvents(punctual, subscribed, 1);
      await subscribed.receiver.nth(1);
      return { code, end, subscribed, release };
    }),
  );
  await gate.close();
  for (const { code, subscribed, release } of sent) {
    release(status(code));
    await unrecorded(punctual, subscribed);
  }
  await gate.open();

  for (const { code, end, subscribed } of sent) {
    const { client, path, receiver } = subscribed;
    const { attempts, ...seen } = await poll<DeliveryView>(
      async () => (await client.get(path)).body.deliveries[0],
      (delivery) => delivery.attempts.length > 0,
    );
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: code });
    t.is(seen.status, end);
    const [first, second, ...more] = receiver.arrived;
    t.deepEqual(more, []); // One extra request, with the same id.
    t.is(second?.headers['service-event-id'], first?.headers['service-event-id'] ?? '');
    t.is(second?.body, first?.body ?? '');
  }
});
