import type { Client } from '@temporalio/client';
import type { Em } from '../db/orm.ts';
import { deliveryWorkflowId, postsQueue, replay } from '../workflows/messages.ts';
import { underDeadline } from './under-deadline.ts';

/** What Temporal must know of a delivery that was replayed. */
export type DeliveryToSync = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly round: number;
};

/**
 * Tells Temporal to begin a delivery's new round, and remembers that it was told. The signal goes to the workflow
 * of the round before while that is still closing, which then does not close, and else begins a new one; so a
 * round that was told of is never lost. Safe to repeat: the round comes with it, and one heard of changes nothing.
 *
 * @throws ServiceError when Temporal is away; the row stays in the outbox, and the relay repeats it.
 */
export async function syncDelivery(
  client: Client,
  em: Em,
  delivery: DeliveryToSync,
): Promise<void> {
  const { workspaceId, deliveryId, round } = delivery;
  await underDeadline(client, () =>
    client.workflow.signalWithStart('deliverWebhook', {
      taskQueue: postsQueue,
      workflowId: deliveryWorkflowId(deliveryId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `Webhook delivery ${deliveryId}`,
      args: [{ workspaceId, deliveryId, round }],
      signal: replay,
      signalArgs: [{ round }],
    }),
  );
  await em.execute(
    'update deliveries set synced_round = greatest(synced_round, ?) where id = ? and workspace_id = ?',
    [round, deliveryId, workspaceId],
  );
}
