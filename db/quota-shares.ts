import { ask } from './ask.ts';
import type { Em } from './orm.ts';

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
