import { ask } from './ask.ts';
import type { Em } from './orm.ts';
import { bytesOfText } from './quota-use.ts';

/**
 * Locks a workspace's shares of its quotas until the transaction ends, always in the same order. Posts that are being
 * made have committed by then or wait.
 *
 * @returns how much text was stored by way of them; null when there are no shares yet.
 */
export async function lockShares(em: Em, workspaceId: string): Promise<number | null> {
  const rows = await ask<{ text_used: string }>(
    em,
    'select text_used::text from quota_shares where workspace_id = $1 order by share for update',
    [workspaceId],
  );
  return rows.length === 0 ? null : rows.reduce((sum, row) => sum + Number(row.text_used), 0);
}

/**
 * For who makes a draft without asking for room: what was counted no longer holds, and the next post counts anew. In
 * the transaction that makes the draft.
 */
export async function withdrawRoom(em: Em, workspaceId: string): Promise<void> {
  await lockShares(em, workspaceId);
  await ask(em, 'update quota_shares set scheduled = 0, drafts = 0 where workspace_id = $1', [
    workspaceId,
  ]);
}

/**
 * For who changes what a workspace may have: the next post counts anew, and its texts are counted here. The rows stay,
 * since calls that count may be waiting for their locks, and would find none.
 */
export async function recountShares(em: Em, workspaceId: string): Promise<void> {
  await lockShares(em, workspaceId);
  // A statement of its own: it sees what was committed while we waited for the locks.
  await ask(
    em,
    `update quota_shares set basis = '', text_used = case when share = 0 then (${bytesOfText}) else 0 end
     where workspace_id = $1`,
    [workspaceId],
  );
}
