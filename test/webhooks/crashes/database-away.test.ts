import type { ExecutionContext } from 'ava';
import type { DeliveryView } from '../../../api/webhooks/load-deliveries.ts';
import { createOrm } from '../../../db/orm.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { startWorkers } from '../../support/punctual.ts';
import { targetOf, tcpGate, throughGate } from '../../support/tcp-gate.ts';
import { held, status } from '../support/answers.ts';
import { queueEvents } from '../support/queue-events.ts';
import { startWorld, type Subscribed } from '../support/world.ts';

const test = needs('temporal');
const patienceMs = 90_000;

/** Workers behind a gate before the database; the API and the test reach it past the gate. */
async function gatedWorld(t: ExecutionContext) {
  const world = await startWorld(t);
  const { punctual } = world;
  const gate = await tcpGate(t, targetOf(punctual.databaseUrl));
  const orm = createOrm(throughGate(punctual.databaseUrl, gate), { poolSize: 5 });
  t.teardown(() => orm.close());
  await startWorkers(t, { ...punctual, orm, deps: { ...punctual.deps, orm } });
  return { ...world, gate };
}

/** Waits until Temporal has heard that the attempt could not be written down. */
async function unrecorded(
  { punctual }: Awaited<ReturnType<typeof gatedWorld>>,
  { workspaceId }: Subscribed,
): Promise<void> {
  const [row] = await punctual.orm.em
    .fork()
    .execute<{ id: string }[]>('select id from deliveries where workspace_id = ?', [workspaceId]);
  const handle = punctual.temporal.client.workflow.getHandle(`delivery-${row?.id}`);
  await poll(
    async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt ?? 0,
    (tries) => tries >= 2,
    patienceMs,
  );
}

const answers: readonly [number, DeliveryView['status']][] = [
  [204, 'delivered'],
  [500, 'pending'],
];

test('PostgreSQL goes away while requests are under way: nothing is lost, and our outage is no attempt', async (t) => {
  const world = await gatedWorld(t);
  // One after the other: a request has ten seconds, also on a machine that stalls before the next one is there.
  for (const [code, end] of answers) {
    const { answer, release } = held();
    const subscribed = await world.subscribe(answer);
    const { client, webhookId, receiver } = subscribed;
    await queueEvents(world.punctual, subscribed, 1);
    await receiver.nth(1);
    await world.gate.close();
    release(status(code));
    await unrecorded(world, subscribed);
    await world.gate.open();

    const { attempts, ...seen } = await poll<DeliveryView>(
      async () => (await client.get(`/webhooks/${webhookId}`)).body.deliveries[0],
      (delivery) => delivery.attempts.length > 0,
      patienceMs,
    );
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: code });
    t.is(seen.status, end);
    const [first, second, ...more] = receiver.arrived;
    t.deepEqual(more, []); // One too many, and under the same id.
    t.is(second?.headers['service-event-id'], first?.headers['service-event-id'] ?? '');
    t.is(second?.body, first?.body ?? '');
  }
});
