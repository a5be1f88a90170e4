import { sql, type RawBuilder } from 'kysely';
import { assertRoom, type PostUse, type Quotas } from '../domain/quotas.ts';
import { Channel } from './entities/channels.ts';
import type { Em } from './orm.ts';
import { isOpenPost } from './post-status.ts';
import { query } from './query.ts';

/** Counts everything that quotas limit. */
export async function countQuotas(em: Em, workspaceId: string): Promise<Quotas> {
  return {
    ...(await countPosts(em, workspaceId)),
    ...(await countMedia(em, workspaceId)),
    text_bytes: await countTextBytes(em, workspaceId),
    channels: await em.count(Channel, { workspaceId, disconnectedAt: null }),
  };
}

/**
 * Counts scheduled posts and drafts of a workspace, along an index. Posts being published count as scheduled, because a
 * cancel, which is never refused, makes drafts of them.
 */
export async function countPosts(em: Em, workspaceId: string) {
  const id = sql`${workspaceId}::uuid`;
  const [row] = await query(
    em,
    sql<Omit<PostUse, 'text_bytes'>>`
      select ${openPostsOf(id)} as scheduled, ${draftsOf(id)} as drafts`,
  );
  return row ?? { scheduled: 0, drafts: 0 };
}

/** SQL: the number of scheduled posts of a workspace. */
const openPostsOf = (workspaceId: RawBuilder<unknown>): RawBuilder<number> =>
  sql`(select count(*)::int from posts where workspace_id = ${workspaceId} and ${isOpenPost()})`;

/** SQL: the number of drafts of a workspace. */
const draftsOf = (workspaceId: RawBuilder<unknown>): RawBuilder<number> =>
  sql`(select count(*)::int from posts where workspace_id = ${workspaceId} and status = 'draft')`;

/** SQL: bytes of text of the post `p`, including its channels and files. */
const bytesOfPost = sql<number>`coalesce(octet_length(p.body), 0)
  + coalesce((select sum(octet_length(part)) from jsonb_array_elements_text(p.thread) part), 0)
  + coalesce((select sum(coalesce(octet_length(pc.body), 0) + coalesce(octet_length(pc.options::text), 0)
        + coalesce(octet_length(pc.defaults::text), 0) + coalesce(octet_length(pc.media::text), 0))
      from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id), 0)
  + coalesce((select sum(octet_length(pm.alt_text)) from post_media pm
      where pm.post_id = p.id and pm.workspace_id = p.workspace_id), 0)`;

/** Counts the bytes of text of a workspace, which `workspaces.text_used` should be, or of one of its posts. */
export async function countTextBytes(
  em: Em,
  workspaceId: string,
  postId?: string,
): Promise<number> {
  const [row] = await query(
    em,
    sql<{ bytes: number }>`select coalesce(sum(${bytesOfPost}), 0)::float8 as bytes from posts p
      where p.workspace_id = ${workspaceId} ${postId === undefined ? sql`` : sql`and p.id = ${postId}`}`,
  );
  return row?.bytes ?? 0;
}

export type QuotaHolder = { readonly workspaceId: string; readonly quotas: Quotas };

/** More than the posts of a workspace that can be stored at the same moment. */
const mostAtOnce = 100;

/**
 * SQL: takes the quota for a new post in the statement that inserts it. Returns no row when a quota is too small, and
 * near the limit also when it waited for another change of the workspace, since it sees the posts of its start.
 */
export const quotaIfRoom = (
  { workspaceId, quotas }: QuotaHolder,
  { scheduled, text_bytes: text }: PostUse,
): RawBuilder<unknown> => {
  const most = scheduled > 0 ? quotas.scheduled : quotas.drafts;
  const hasRoomFor = (others: number) => sql`used + ${others} < ${most}::bigint`;
  // By the row's id and not by a constant: otherwise a plan for a large workspace reads the posts of all.
  const [open, drafts] = [openPostsOf(sql.ref('w.id')), draftsOf(sql.ref('w.id'))];
  const used =
    scheduled > 0 ? sql`${open} + greatest(0, ${drafts} - ${quotas.drafts}::bigint)` : drafts;
  // Counts before it locks the workspace, so that concurrent posts do not wait for each other's count.
  return sql`
    with counted as materialized (
      select ${used} as used, w.xmin as seen from workspaces w where w.id = ${workspaceId}::uuid)
    update workspaces w set text_used = w.text_used + ${text}::bigint
    from counted
    where w.id = ${workspaceId}::uuid
      and (${text}::bigint = 0 or w.text_used + ${text}::bigint <= ${quotas.text_bytes}::bigint)
      and (${hasRoomFor(mostAtOnce)} or w.xmin = seen and ${hasRoomFor(0)})
    returning w.id as workspace_id`;
};

/** Takes the quota for a change, in its transaction. Concurrent changes of the workspace wait for its end. */
export async function takeQuota(
  em: Em,
  { workspaceId, quotas }: QuotaHolder,
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

/** Writes changed entities of a post, and takes the quota for its text. @param before `countTextBytes` of it before. */
export async function flushWithQuota(
  em: Em,
  owner: QuotaHolder,
  postId: string,
  before: number,
): Promise<void> {
  const { workspaceId } = owner;
  // The flush locks accounts and external ids, which come after the workspace in the order of locks.
  await lockLibrary(em, workspaceId);
  await em.flush();
  const more = (await countTextBytes(em, workspaceId, postId)) - before;
  await takeQuota(em, owner, { scheduled: 0, drafts: 0, text_bytes: more });
}

/** Gives back the text of a post that is deleted next. */
export async function releaseText(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
): Promise<void> {
  await query(
    em,
    sql`update workspaces set text_used = greatest(0, text_used - (
          select ${bytesOfPost} from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}))
        where id = ${workspaceId}`,
  );
}

/** Counts a workspace's files and their bytes, including alt texts. Deleted files do not count. */
export async function countMedia(em: Em, workspaceId: string) {
  const [row] = await query(
    em,
    sql<Pick<Quotas, 'files' | 'media_bytes'>>`
      select count(*)::int as files,
        coalesce(sum(size_bytes + coalesce(octet_length(alt_text), 0)), 0)::float8 as media_bytes
      from media_files where workspace_id = ${workspaceId} and deleted_at is null and stored_at is not null`,
  );
  return row ?? { files: 0, media_bytes: 0 };
}

/** Locks a workspace's media library, and not its posts. */
export async function lockLibrary(em: Em, workspaceId: string): Promise<void> {
  await query(em, sql`select 1 from workspaces where id = ${workspaceId} for no key update`);
}
