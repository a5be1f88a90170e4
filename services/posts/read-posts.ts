import { sql } from 'kysely';
import { shownStatus } from '../../db/channel-status.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned, query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { PostStatus, ShownChannelStatus } from '../../domain/statuses.ts';
import type { PostScope } from '../context.ts';
import { encodeCursor, readCursor } from '../cursor.ts';
import type { ServiceDeps } from '../deps.ts';

/** @throws AppError `not_found` */
export async function showPost(
  deps: Pick<ServiceDeps, 'orm' | 'publicUrl' | 'rules'>,
  { workspaceId, postId }: PostScope,
): Promise<PostView> {
  const post = await loadPostView(deps.orm.em.fork(), workspaceId, postId, deps);
  if (!post) {
    throw postNotFound(postId);
  }

  return post;
}

/** A post in a list, as clients see it. */
type ListedPost = Pick<
  PostView,
  'id' | 'body' | 'thread' | 'scheduled_at' | 'published_at' | 'created_at' | 'status'
> & {
  readonly body_truncated: boolean;
  readonly post_targets: readonly {
    readonly channel_id: string;
    readonly status: ShownChannelStatus;
  }[];
};

type Row = Omit<ListedPost, 'scheduled_at' | 'published_at' | 'created_at'> & {
  readonly scheduled_at: Date | null;
  readonly published_at: Date | null;
  readonly created_at: Date;
};

/** Lists posts with their channels, newest first, in one statement. */
export async function listPosts(
  em: Em,
  workspaceId: string,
  {
    status,
    limit,
    cursor,
    channelIds = null,
  }: {
    status?: PostStatus;
    limit: number;
    cursor?: string;
    /** Only posts that have one of these channels. */
    channelIds?: readonly string[] | null;
  },
): Promise<{ posts: ListedPost[]; nextCursor: string | null }> {
  const after = readCursor(cursor);
  const ofStatus = status ? sql`and p.status = ${status}` : sql``;
  const onChannels = channelIds
    ? sql`and exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
        and pc.channel_id = any(${channelIds}::uuid[]))`
    : sql``;
  const afterCursor = after
    ? sql`and (p.created_at, p.id) < (${after.createdAt}, ${after.id})`
    : sql``;
  const rows = await queryPlanned(
    em,
    sql<Row>`
      select p.id, ${cutTexts}, p.scheduled_at, p.published_at, p.created_at, p.status,
        coalesce(t.targets, '[]'::jsonb) as post_targets
      from posts p
      left join lateral (
        select jsonb_agg(jsonb_build_object('channel_id', pc.channel_id, 'status', ${shownStatus}) order by pc.position)
          as targets
        from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
      ) t on true
      where p.workspace_id = ${workspaceId} ${ofStatus} ${onChannels} ${afterCursor}
      order by p.created_at desc, p.id desc limit ${limit + 1}`,
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    posts: page.map(present),
    nextCursor:
      last && rows.length > limit
        ? encodeCursor({ createdAt: last.created_at, id: last.id })
        : null,
  };
}

/**
 * Limit of a body, or of all texts of a thread together, in lists and analytics, in characters. A page has a hundred
 * posts, and full texts could make it megabytes.
 */
const longestListed = 10_000;

const most = sql.lit(longestListed);

/** SQL: the texts of the post `p`, cut inside the database. A thread keeps all its parts. */
export const cutTexts = sql`left(p.body, ${most}) as body,
  case when p.thread is null or length(p.thread::text) <= ${most} then p.thread else (
    select jsonb_agg(left(part, greatest(0, ${most} - before)::int) order by n) from (
      select part, n, sum(length(part)) over (order by n) - length(part) as before
      from jsonb_array_elements_text(p.thread) with ordinality as parts(part, n)) located
  ) end as thread,
  coalesce(length(p.body) > ${most}, false) or coalesce(length(p.thread::text) > ${most} and (
    select sum(length(part)) from jsonb_array_elements_text(p.thread) part) > ${most}, false) as body_truncated`;

const present = (row: Row): ListedPost => ({
  ...row,
  scheduled_at: row.scheduled_at?.toISOString() ?? null,
  published_at: row.published_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});

/**
 * Locks a post until the transaction ends. Lock order everywhere: the post, its channels, then files.
 *
 * @throws AppError `not_found`
 */
export async function lockPost(
  em: Em,
  { workspaceId, postId }: PostScope,
): Promise<{ readonly status: PostStatus }> {
  const [post] = await query(
    em,
    sql<{ status: PostStatus }>`
      select status from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
  );
  if (!post) {
    throw postNotFound(postId);
  }

  return post;
}

export const postNotFound = (postId: string): AppError =>
  new AppError('not_found', `There is no post "${postId}".`);
