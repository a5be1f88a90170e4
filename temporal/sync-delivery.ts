import type { Client } from '@temporalio/client';
import type { Em } from '../db/orm.ts';
import type { Logger } from '../runtime/logger.ts';
import { deliveryWorkflowId, replay, webhooksQueue } from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { startSearchable } from './start-searchable.ts';
import { turnOf } from './turn-of-delivery.ts';
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
  log?: Logger,
): Promise<void> {
  const { workspaceId, deliveryId, round } = delivery;
  const priority = await turnOf(em, delivery);
  const start = (searchable: object): Promise<unknown> =>
    client.workflow.signalWithStart('deliverWebhook', {
      ...searchable,
      taskQueue: webhooksQueue,
      workflowId: deliveryWorkflowId(deliveryId),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `Webhook delivery ${deliveryId}`,
      staticDetails: `Workspace \`${workspaceId}\`, round ${round}.`,
      priority,
      args: [{ workspaceId, deliveryId, round }],
      signal: replay,
      signalArgs: [{ round }],
    });
  await underDeadline(client, () => startSearchable(client, ofWorkspace(workspaceId), start, log));
  // Never above the row's own: where a failover lost the replay, the next one is to be told of.
  await em.execute(
    'update deliveries set synced_round = least(round, greatest(synced_round, ?)) where id = ? and workspace_id = ?',
    [round, deliveryId, workspaceId],
  );
}
