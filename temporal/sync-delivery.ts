import type { Client } from '@temporalio/client';
import type { Priority } from '@temporalio/common';
import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { fairnessWeight } from '../domain/webhook-deliveries.ts';
import type { Logger } from '../runtime/logger.ts';
import { deliveryWorkflowId, replay, webhooksQueue } from '../workflows/messages.ts';
import { ofWorkspace } from '../workflows/search-attributes.ts';
import { underDeadline } from './connect.ts';
import { startSearchable } from './search-attributes.ts';

/** What the workflow of a replayed delivery must know. */
export type DeliveryToSync = {
  readonly workspaceId: string;
  readonly deliveryId: string;
  readonly round: number;
};

/**
 * Signals the workflow of a delivery that a new round begins, and marks the row synced. While the workflow of the round
 * before is still closing, the signal keeps it open; otherwise it starts a new one, so no round is lost. Safe to repeat:
 * the signal carries the round, and one that the workflow knows changes nothing.
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
  await underDeadline(client, () => startSearchable(client, ofWorkspace(workspaceId), start, log));
  // Never above the row's own round: where a failover lost the replay, the next one must still reach the workflow.
  await query(
    em,
    sql`update deliveries set synced_round = least(round, greatest(synced_round, ${round}::int))
      where id = ${deliveryId} and workspace_id = ${workspaceId}`,
  );
}

/** Of more deliveries than so many, the weight is small enough, and counting takes time. */
const mostCounted = 400;

/**
 * The endpoint is the fairness key, so that thousands of replays to one hold up neither another workspace's nor another
 * endpoint of the same; and the more of them wait, the smaller its weight.
 *
 * @returns nothing for a delivery that was deleted: its workflow ends at once.
 */
async function fairnessOf(
  em: Em,
  { workspaceId, deliveryId }: Omit<DeliveryToSync, 'round'>,
): Promise<Priority> {
  const [row] = await query<{ endpoint_id: string; waiting: number }>(
    em,
    sql`select d.endpoint_id,
        (select count(*)::int from (
           select o.next_attempt_at from deliveries o
           where o.endpoint_id = d.endpoint_id and o.workspace_id = ${workspaceId} and o.status = 'pending'
           order by o.created_at desc, o.id desc limit ${sql.lit(mostCounted)}) as latest
         where next_attempt_at is null or next_attempt_at <= clock_timestamp()) as waiting
      from deliveries d where d.id = ${deliveryId} and d.workspace_id = ${workspaceId}`,
  );
  return row ? { fairnessKey: row.endpoint_id, fairnessWeight: fairnessWeight(row.waiting) } : {};
}
