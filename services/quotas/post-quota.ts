import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { countPosts, draftsOf, openPostsOf } from '../../db/quotas.ts';
import { query } from '../../db/query.ts';
import { assertRoom, type PostUse } from '../../domain/quotas.ts';
import type { QuotaOwner } from '../context.ts';

/**
 * SQL: takes the quota for a new post in the statement that inserts it. Returns no row when a quota is too small. The
 * statement sees the posts of its start, so it also returns none when it waited for another change of the workspace.
 */
export const quotaIfRoom = (
  { workspaceId, quotas }: QuotaOwner,
  { scheduled, text_bytes: text }: PostUse,
): RawBuilder<unknown> => {
  // Of the row and not of a constant: otherwise a plan for a large workspace reads the posts of all.
  const [open, drafts] = [openPostsOf(sql.ref('w.id')), draftsOf(sql.ref('w.id'))];
  const hasRoom =
    scheduled > 0
      ? sql`${open} + greatest(0, ${drafts} - ${quotas.drafts}::bigint) < ${quotas.scheduled}::bigint`
      : sql`${drafts} < ${quotas.drafts}::bigint`;
  return sql`
    update workspaces w set text_used = w.text_used + ${text}::bigint
    where w.id = ${workspaceId}::uuid
      and w.xmin = (select seen.xmin from workspaces seen where seen.id = ${workspaceId}::uuid)
      and (${text}::bigint = 0 or w.text_used + ${text}::bigint <= ${quotas.text_bytes}::bigint) and ${hasRoom}
    returning w.id as workspace_id`;
};

/**
 * Takes the quota for a change, in its transaction. Concurrent changes of the workspace wait for its end.
 *
 * @param change Negative numbers release quota.
 * @throws AppError `quota_exceeded`
 */
export async function takeQuota(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
  change: PostUse,
): Promise<void> {
  const { scheduled, drafts, text_bytes: more } = change;
  if (scheduled === 0 && drafts === 0 && more === 0) {
    return;
  }

  const [row] = await query(
    em,
    sql<{ text_used: string }>`
      update workspaces set text_used = text_used + ${more}::bigint where id = ${workspaceId} returning text_used::text`,
  );
  if (scheduled > 0 || drafts > 0 || more > 0) {
    const text = Number(row?.text_used ?? 0) - more;
    // A separate statement sees what was committed while this one waited.
    assertRoom(quotas, { ...(await countPosts(em, workspaceId)), text_bytes: text }, change);
  }
}
