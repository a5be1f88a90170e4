import type { Client } from '@temporalio/client';
import type { Priority } from '@temporalio/common';
import { sql } from 'kysely';
import { countWaiting } from '../db/count-waiting.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import type { DeliveryToSync } from '../domain/to-sync.ts';
import { fairnessWeight } from '../domain/webhook-deliveries.ts';
import { deliveryWorkflowId, replay, webhooksQueue } from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { underDeadline } from './connect.ts';
import { startSearchable } from './ensure-search-attributes.ts';

/**
 * Signals the workflow of a delivery that a new round begins, and marks the row synced. The signal keeps a workflow that
 * is about to end open, or starts one. Safe to repeat: the workflow ignores a round that it has.
 *
 * @throws ServiceError if Temporal is unavailable; the row stays in the outbox.
 */
export async function syncDelivery(
  client: Client,
  em: Em,
  delivery: DeliveryToSync,
): Promise<void> {
  const { workspaceId, deliveryId, round } = delivery;
  const priority = await fairnessOf(em, delivery);
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
  await underDeadline(client, () => startSearchable(client, ofWorkspace(workspaceId), start));
  // Never above the row's round: if a failover lost the replay, the next one must still be synced.
  await query(
    em,
    sql`update deliveries set synced_round = least(round, greatest(synced_round, ${round}::int))
      where id = ${deliveryId} and workspace_id = ${workspaceId}`,
  );
}

/** Upper limit of the count, which takes time. The weight is small enough at this number. */
const mostCounted = 400;

/** The endpoint is the key, so that thousands of replays to it delay no other; empty for a deleted delivery. */
async function fairnessOf(
  em: Em,
  { workspaceId, deliveryId }: Omit<DeliveryToSync, 'round'>,
): Promise<Priority> {
  const [row] = await query<{ endpointId: string }>(
    em,
    sql`select endpoint_id as "endpointId" from deliveries where id = ${deliveryId} and workspace_id = ${workspaceId}`,
  );
  if (!row) {
    return {};
  }

  const waiting = await countWaiting(em, { ...row, workspaceId }, mostCounted);
  return { fairnessKey: row.endpointId, fairnessWeight: fairnessWeight(waiting) };
}
