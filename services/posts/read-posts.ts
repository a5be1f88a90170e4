import { sql } from 'kysely';
import { loadPostView } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { PostStatus } from '../../domain/statuses.ts';
import type { Caller, PostChange } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { assertReachesChannel, channelNotFound } from '../keys/channel-restriction.ts';

/**
 * Reads a post for a caller. Every answer with a post is made by this, also one that repeats an earlier answer, because
 * the post may be on other channels by now.
 *
 * @throws AppError `not_found`, also for a post on none of the caller's channels.
 */
export async function showPost(
  deps: Pick<ServiceDeps, 'orm' | 'publicUrl' | 'rules'>,
  caller: Pick<Caller, 'workspaceId' | 'channelIds'>,
  postId: string,
): Promise<PostView> {
  const post = await loadPostView(deps.orm.em.fork(), caller.workspaceId, postId, deps);
  const isReached =
    caller.channelIds === null || post?.channels.some(({ channel_id: id }) => reaches(caller, id));
  if (!post || !isReached) {
    throw postNotFound(postId);
  }

  return post;
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

/**
 * Locks a post for a change until the transaction ends, and checks that the caller's key may change it: another call may
 * have moved the post to other channels since. Lock order everywhere: the post, its channels, then files.
 *
 * @throws AppError `not_found`, `channel_not_allowed`
 */
export async function lockPost(
  em: Em,
  { workspaceId, postId, channelIds = null }: PostChange,
): Promise<{ readonly status: PostStatus }> {
  const [post] = await query(
    em,
    sql<{ status: PostStatus }>`
      select status from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
  );
  if (!post) {
    throw postNotFound(postId);
  }

  await assertReachesPost(em, { workspaceId, channelIds }, postId, 'change');
  return post;
}

/**
 * A restricted key reads a post that has one of its channels, and changes a post that has no others.
 *
 * @throws AppError `not_found`, `channel_not_allowed`
 */
export async function assertReachesPost(
  em: Em,
  { workspaceId, channelIds }: Pick<Caller, 'workspaceId' | 'channelIds'>,
  postId: string,
  to: 'read' | 'change',
): Promise<void> {
  if (channelIds === null) {
    return;
  }

  const [on] = await query(
    em,
    sql<{ one: boolean | null; all: boolean | null }>`
      select bool_or(channel_id = any(${channelIds}::uuid[])) as one,
        bool_and(channel_id = any(${channelIds}::uuid[])) as all
      from post_channels where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
  if (!on?.one) {
    throw postNotFound(postId);
  }

  if (to === 'change' && !on.all) {
    throw new AppError(
      'channel_not_allowed',
      'This post has channels that this API key may not use, so the key can only read it. Use a key without channel_ids.',
    );
  }
}

export const postNotFound = (postId: string): AppError =>
  new AppError('not_found', `There is no post "${postId}".`);

/**
 * Refuses a filter by a channel or a post that the workspace does not have, or that the key does not reach: the list
 * would be empty without a word.
 *
 * @throws AppError `not_found`
 */
export async function assertKnownFilter(
  em: Em,
  holder: Pick<Caller, 'workspaceId' | 'channelIds'>,
  {
    channelId,
    postId,
  }: { readonly channelId?: string | undefined; readonly postId?: string | undefined },
): Promise<void> {
  const { workspaceId } = holder;
  if (channelId !== undefined) {
    assertReachesChannel(holder, channelId);
    const which = sql`id = ${channelId} and workspace_id = ${workspaceId}`;
    const [channel] = await query(em, sql`select id from channels where ${which}`);
    if (!channel) {
      throw channelNotFound(channelId);
    }
  }

  if (postId !== undefined) {
    const which = sql`id = ${postId} and workspace_id = ${workspaceId}`;
    const [post] = await query(em, sql`select id from posts where ${which}`);
    if (!post) {
      throw postNotFound(postId);
    }
  }
}
