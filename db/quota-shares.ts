import { sql } from 'kysely';
import type { Em } from './orm.ts';
import { query } from './query.ts';
import { bytesOfText } from './quota-use.ts';

/**
 * Locks a workspace's shares of its quotas until the transaction ends, always in the same order. Posts that are being
 * made have committed by then or wait.
 *
 * @returns how much text was stored by way of them; null when there are no shares yet.
 */
export async function lockShares(em: Em, workspaceId: string): Promise<number | null> {
  const rows = await query(
    em,
    sql<{ text_used: string }>`
      select text_used::text from quota_shares where workspace_id = ${workspaceId} order by share for update`,
  );
  return rows.length === 0 ? null : rows.reduce((sum, row) => sum + Number(row.text_used), 0);
}

/**
 * After a draft was made without a check of the quota: what was counted no longer holds, and the next post counts anew.
 * Call it in the transaction that makes the draft.
 */
export async function voidShares(em: Em, workspaceId: string): Promise<void> {
  await lockShares(em, workspaceId);
  await query(
    em,
    sql`update quota_shares set scheduled = 0, drafts = 0 where workspace_id = ${workspaceId}`,
  );
}

/**
 * After a change of what a workspace may have: the next post counts anew, and its texts are counted here. The rows stay,
 * since calls that count may be waiting for their locks, and would find none.
 */
export async function recountShares(em: Em, workspaceId: string): Promise<void> {
  await lockShares(em, workspaceId);
  // A statement of its own: it sees what was committed while we waited for the locks.
  await query(
    em,
    sql`update quota_shares set basis = '', text_used = case when share = 0 then (${bytesOfText(workspaceId)}) else 0 end
        where workspace_id = ${workspaceId}`,
  );
}
