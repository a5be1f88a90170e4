import { sideBySide } from '../../runtime/side-by-side.ts';
import { syncDelivery } from '../../temporal/sync-delivery.ts';
import { deliveryWorkflowId } from '../../workflows/messages.ts';
import { needs } from '../support/needs.ts';
import type { Punctual } from '../support/punctual.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { held, status } from '../webhooks/support/answers.ts';
import { queueEvents } from '../webhooks/support/queue-events.ts';
import { startWorld, type Subscribed } from '../webhooks/support/world.ts';

const test = needs('temporal');

test('of 100 replayed to an endpoint that hangs few have a turn before 20 of another workspace, told of behind them, have had theirs', async (t) => {
  const { punctual, stage, subscribe } = await startWorld(t);
  const hanging = await subscribe(held().answer);
  const healthy = await subscribe(status(204));

  const slow = await tellOf(punctual, hanging, 100);
  const quick = await tellOf(punctual, healthy, 20);
  await startWorkerProcess(t, punctual, [stage.port]);
  await healthy.receiver.nth(20);

  const lastMs = Math.max(...(await turnsMs(punctual, quick)));
  const before = (await turnsMs(punctual, slow)).filter((atMs) => atMs <= lastMs).length;
  t.log(`${before} of the 100 before the twentieth of the others`);
  // One for one it would be 20 and what is under way; five to one, it is 4 and what is under way.
  t.true(before > 0);
  t.true(before < 16);
});

test('what is replayed to one endpoint takes turns with what goes to another of the same workspace; the more wait for one, the fewer it has', async (t) => {
  const { punctual, subscribe } = await startWorld(t);
  const first = await subscribe();
  const hook = { url: first.receiver.url, events: ['post.failed'] };
  const { id: webhookId } = (await first.client.post('/webhooks', hook)).body.webhook;
  const second = { ...first, webhookId };

  const [few, many] = [await tellOf(punctual, first, 4), await tellOf(punctual, second, 40)];

  const turnOf = async (id = ''): Promise<unknown> =>
    (await historyOf(punctual, id))[0]?.workflowExecutionStartedEventAttributes?.priority;
  t.like(await turnOf(few[0]), { fairnessKey: first.webhookId, fairnessWeight: 1 });
  t.like(await turnOf(many[0]), { fairnessKey: webhookId, fairnessWeight: Math.fround(0.1) });
});

/** Stores so many events for an endpoint, and tells Temporal of them. @returns their deliveries. */
async function tellOf(
  { temporal, orm }: Punctual,
  subscribed: Subscribed,
  count: number,
): Promise<string[]> {
  const { workspaceId, webhookId } = subscribed;
  await queueEvents({ orm }, subscribed, count);
  const rows = await orm.em
    .fork()
    .execute<{ id: string }[]>(
      'select id from deliveries where workspace_id = ? and endpoint_id = ?',
      [workspaceId, webhookId],
    );
  await sideBySide(rows, 8, ({ id: deliveryId }) =>
    syncDelivery(temporal.client, orm.em.fork(), { workspaceId, deliveryId, round: 1 }),
  );
  return rows.map(({ id }) => id);
}

async function historyOf({ temporal }: Punctual, deliveryId: string) {
  const handle = temporal.client.workflow.getHandle(deliveryWorkflowId(deliveryId));
  return (await handle.fetchHistory()).events ?? [];
}

/** When a worker took each one's first task, in milliseconds since 1970; of those that none took, never. */
const turnsMs = (punctual: Punctual, deliveryIds: readonly string[]): Promise<number[]> =>
  Promise.all(
    deliveryIds.map(async (id) => {
      const events = await historyOf(punctual, id);
      const taken = events.find((event) => event.workflowTaskStartedEventAttributes)?.eventTime;
      return taken
        ? Number(taken.seconds) * 1000 + (taken.nanos ?? 0) / 1e6
        : Number.POSITIVE_INFINITY;
    }),
  );
