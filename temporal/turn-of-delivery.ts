import type { Priority } from '@temporalio/common';
import { ask } from '../db/ask.ts';
import type { Em } from '../db/orm.ts';
import { turnWeight } from '../domain/turn-weight.ts';

/** Beyond so many a turn is rare enough, and counting takes time. */
const mostCounted = 400;

/**
 * Each endpoint has its turn, so that thousands that are replayed to one hold up neither another workspace's nor another
 * endpoint of the same; and the more wait for an endpoint, the fewer turns it has.
 *
 * @returns nothing for a delivery that was deleted: its workflow ends at once.
 */
export async function turnOf(
  em: Em,
  { workspaceId, deliveryId }: { readonly workspaceId: string; readonly deliveryId: string },
): Promise<Priority> {
  const [row] = await ask<{ endpoint_id: string; waiting: number }>(
    em,
    `select d.endpoint_id,
       (select count(*)::int from (
          select o.next_attempt_at from deliveries o
          where o.endpoint_id = d.endpoint_id and o.workspace_id = $2 and o.status = 'pending'
          order by o.created_at desc, o.id desc limit ${mostCounted}) as latest
        where next_attempt_at is null or next_attempt_at <= clock_timestamp()) as waiting
     from deliveries d where d.id = $1 and d.workspace_id = $2`,
    [deliveryId, workspaceId],
  );
  return row ? { fairnessKey: row.endpoint_id, fairnessWeight: turnWeight(row.waiting) } : {};
}
