import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { lockShares } from '../../db/quota-shares.ts';
import { bytesOfText, countPosts } from '../../db/quota-use.ts';
import { roomLeft, useAfter, type PostUse, type Quotas } from '../../domain/quotas.ts';
import type { Caller } from '../http/route.ts';

/** A workspace, and what it may have. */
export type QuotaOwner = Pick<Caller, 'workspaceId' | 'quotas'>;

/** Into how many shares a workspace's quotas are divided: that many posts can be made at the same moment without waiting. */
const shares = 8;

/** A post's share, by its id: a part of it that is random. */
const shareOf = (id: string): RawBuilder<number> =>
  sql`get_byte(uuid_send(${id}::uuid), 15) % ${sql.lit(shares)}`;

const basisOf = ({ scheduled, drafts, text_bytes: text }: Quotas): string =>
  `${scheduled} ${drafts} ${text}`;

/**
 * Takes what a change of a post needs from one share of its workspace: no row when that has too little, or was counted
 * for other quotas.
 *
 * @param change Negative numbers for what becomes less.
 * @param onlyIf A condition that is no matter of quotas.
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

/** A post's share has too little left, as far as it was counted. See `withRecount`. */
export class ShareIsShort extends Error {
  override readonly name = 'ShareIsShort';
}

/**
 * Runs what takes from a share: first by what was counted before, and where that does not do once more, from the
 * beginning, with all counted anew. In the same transaction it could not be: PostgreSQL keeps the lock of a row that it
 * waited for also when the row no longer fits, and a transaction that has one share's lock must not wait for the others.
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
 * Takes what a change of a post needs, in the transaction that makes the change and before its rows change.
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
 * Counts what the workspace has, and divides anew what its quotas leave. The post's own share gets what the change
 * needs beside its part, so that it can be taken in the same transaction.
 *
 * @throws AppError `quota_exceeded` when the change would be too much.
 */
export async function divideAnew(
  em: Em,
  { workspaceId, quotas }: QuotaOwner,
  postId: string,
  change: PostUse,
): Promise<void> {
  await insertShares(em, workspaceId);
  const text = (await lockShares(em, workspaceId)) ?? 0;
  // A statement of its own: it sees what was committed while we waited for the locks.
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

/** The first time; the texts that the workspace has by then count at its first share. */
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
