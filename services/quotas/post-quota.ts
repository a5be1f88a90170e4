import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { lockShares, bytesOfText, countPosts } from '../../db/quotas.ts';
import { roomLeft, useAfter, type PostUse, type Quotas } from '../../domain/quotas.ts';
import type { QuotaOwner } from '../context.ts';

/**
 * A workspace's quotas are divided into this many shares, so that as many posts can be created concurrently without
 * waiting.
 */
const shares = 8;

/** The share of a post, from the random part of its id. */
const shareOf = (id: string): RawBuilder<number> =>
  sql`get_byte(uuid_send(${id}::uuid), 15) % ${sql.lit(shares)}`;

const basisOf = ({ scheduled, drafts, text_bytes: text }: Quotas): string =>
  `${scheduled} ${drafts} ${text}`;

/**
 * SQL: takes the quota for a change of a post from one share. Returns no row when the share is too small, or was
 * computed for other quotas.
 *
 * @param change Negative numbers release quota.
 * @param onlyIf An additional condition, unrelated to quotas.
 */
export const takeFromShare = (
  { workspaceId, quotas }: QuotaOwner,
  postId: string,
  change: PostUse,
  onlyIf: RawBuilder<unknown> = sql`true`,
): RawBuilder<{ workspace_id: string }> => sql`
  update quota_shares q set scheduled = q.scheduled - greatest(c.scheduled, 0),
    drafts = q.drafts - greatest(c.drafts, 0), text_bytes = q.text_bytes - greatest(c.text_bytes, 0),
    text_used = q.text_used + c.text_bytes
  from (values (${change.scheduled}::bigint, ${change.drafts}::bigint, ${change.text_bytes}::bigint))
    as c (scheduled, drafts, text_bytes)
  where q.workspace_id = ${workspaceId}::uuid and q.share = ${shareOf(postId)} and q.basis = ${basisOf(quotas)}
    and (c.scheduled <= 0 or q.scheduled >= c.scheduled) and (c.drafts <= 0 or q.drafts >= c.drafts)
    and (c.text_bytes <= 0 or q.text_bytes >= c.text_bytes) and ${onlyIf}
  returning q.workspace_id`;

/** The post's share is too small, by its last count. See `withRecount`. */
export class ShareIsShort extends Error {
  override readonly name = 'ShareIsShort';
}

/**
 * Runs a change with the current shares, and again from the beginning with recounted ones when a share is too small.
 * The recount needs a new transaction: PostgreSQL keeps the lock of a row that it waited for even if the row no longer
 * matches, and a transaction with one share's lock must not wait for the others.
 */
export async function withRecount<T>(run: (recounts: boolean) => Promise<T>): Promise<T> {
  try {
    return await run(false);
  } catch (error) {
    if (error instanceof ShareIsShort) {
      return run(true);
    }

    throw error;
  }
}

/**
 * Takes the quota for a change, in its transaction and before its rows change.
 *
 * @param recounts From `withRecount`.
 * @throws AppError `quota_exceeded`
 */
export async function takeQuota(
  em: Em,
  owner: QuotaOwner,
  postId: string,
  change: PostUse,
  recounts: boolean,
): Promise<void> {
  if (change.scheduled === 0 && change.drafts === 0 && change.text_bytes === 0) {
    return;
  }

  if (recounts) {
    await divideAnew(em, owner, postId, change);
  }

  if ((await query(em, takeFromShare(owner, postId, change))).length === 0) {
    throw new ShareIsShort();
  }
}

/**
 * Recounts the workspace's usage and divides the remaining quota among the shares. The post's own share also gets the
 * amount of the change, so that the same transaction can take it.
 *
 * @throws AppError `quota_exceeded` when the change exceeds the quota.
 */
export async function divideAnew(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
  postId: string,
  change: PostUse,
): Promise<void> {
  await insertShares(em, workspaceId);
  const text = (await lockShares(em, workspaceId)) ?? 0;
  // A separate statement sees the rows that were committed during the wait for the locks.
  const use = { ...(await countPosts(em, workspaceId)), text_bytes: text };
  const left = roomLeft(quotas, useAfter(quotas, use, change));
  const part = (rest: number): number => Math.max(0, Math.floor(rest / shares));
  const own = (needed: number): number => Math.max(0, needed);
  await query(
    em,
    sql`update quota_shares set basis = ${basisOf(quotas)},
          scheduled = part.scheduled + case when share = part.own then part.own_scheduled else 0 end,
          drafts = part.drafts + case when share = part.own then part.own_drafts else 0 end,
          text_bytes = part.text_bytes + case when share = part.own then part.own_text_bytes else 0 end
        from (values (${shareOf(postId)},
          ${part(left.scheduled)}::bigint, ${part(left.drafts)}::bigint, ${part(left.text_bytes)}::bigint,
          ${own(change.scheduled)}::bigint, ${own(change.drafts)}::bigint, ${own(change.text_bytes)}::bigint))
          as part (own, scheduled, drafts, text_bytes, own_scheduled, own_drafts, own_text_bytes)
        where workspace_id = ${workspaceId}::uuid`,
  );
}

/** On first use; the existing texts of the workspace are counted in the first share. */
async function insertShares(em: Em, workspaceId: string): Promise<void> {
  await query(
    em,
    sql`insert into quota_shares (workspace_id, share, basis, scheduled, drafts, text_bytes, text_used)
        select ${workspaceId}::uuid, n, '', 0, 0, 0, case when n = 0 then (${bytesOfText(workspaceId)}) else 0 end
        from generate_series(0, ${sql.lit(shares - 1)}) n
        where not exists (select from quota_shares where workspace_id = ${workspaceId}::uuid)
        order by n on conflict do nothing`,
  );
}
