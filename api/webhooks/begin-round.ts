import type { Em } from '../../db/orm.ts';
import type { DeliveryToSync } from '../../temporal/sync-delivery.ts';
import { shownAttempts } from './load-deliveries.ts';
import { countReplays, replaysLeft } from './replay-budget.ts';

/** More than that are begun by asking again, so that no statement runs long and nobody waits for its locks. */
export const maxBegun = 1000;

type Row = { id: string; round: number };

/**
 * Begins a new round of six attempts for each of these deliveries of a workspace, the oldest first and at most
 * `maxBegun`, or as many as it may replay in this minute. Numbers of attempts go on, and those that are shown no more
 * are removed. Locks in that order, so that two of these wait for each other rather than each for the other; the one
 * that waited finds them pending, and passes them over.
 *
 * @param which A condition in SQL, with its values. It must leave out what is pending.
 * @returns what Temporal is to be told after the commit.
 * @throws AppError `rate_limited`
 */
export async function beginRound(
  em: Em,
  workspaceId: string,
  { which, values }: { readonly which: string; readonly values: readonly unknown[] },
): Promise<DeliveryToSync[]> {
  const left = await replaysLeft(em, workspaceId);
  const rows = await em.execute<Row[]>(
    `with final as materialized (
       select id from deliveries where workspace_id = ? and ${which}
       order by created_at, id limit ? for update),
     unshown as (
       delete from delivery_attempts a using final where a.delivery_id = final.id and a.workspace_id = ?
         and a.number <= (select max(number) - ${shownAttempts} from delivery_attempts newest
           where newest.delivery_id = final.id and newest.workspace_id = a.workspace_id))
     update deliveries d set status = 'pending', error = null, round = d.round + 1, next_attempt_at = clock_timestamp(),
       attempts_before = (select coalesce(max(number), 0) from delivery_attempts a
         where a.delivery_id = d.id and a.workspace_id = d.workspace_id)
     from final where d.id = final.id and d.workspace_id = ? returning d.id, d.round`,
    [workspaceId, ...values, Math.min(maxBegun, left), workspaceId, workspaceId],
  );
  await countReplays(em, workspaceId, rows.length);
  return rows.map(({ id, round }) => ({ workspaceId, deliveryId: id, round }));
}
