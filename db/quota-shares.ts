import { sql } from 'kysely';
import type { Em } from './orm.ts';
import { query } from './query.ts';
import { bytesOfText } from './quota-use.ts';

/**
 * Locks a workspace's quota shares until the transaction ends, always in the same order. Concurrent inserts of posts
 * have committed or wait.
 *
 * @returns the bytes of text counted in the shares; null if there are no shares yet.
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
 * Voids the counts after a draft was made without a quota check, so that the next post counts again. Call it in the
 * transaction that makes the draft.
 */
export async function voidShares(em: Em, workspaceId: string): Promise<void> {
  await lockShares(em, workspaceId);
  await query(
    em,
    sql`update quota_shares set scheduled = 0, drafts = 0 where workspace_id = ${workspaceId}`,
  );
}

/**
 * Recounts texts after a change of the quotas, and makes the next post count posts again. Keeps the rows, because
 * concurrent calls may be waiting for their locks.
 */
export async function recountShares(em: Em, workspaceId: string): Promise<void> {
  await lockShares(em, workspaceId);
  // A separate statement sees what was committed while this waited for the locks.
  await query(
    em,
    sql`update quota_shares set basis = '', text_used = case when share = 0 then (${bytesOfText(workspaceId)}) else 0 end
        where workspace_id = ${workspaceId}`,
  );
}
