import { sql } from 'kysely';
import { dueAt } from '../../db/post-columns.ts';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { lateSpacingMs } from '../../domain/pacing.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { Caller } from '../http/route.ts';
import { retryPost, type RetryDeps } from '../posts/retry-post.ts';

/** Limit of posts that one call names and retries. */
export const maxRetriedPosts = 100;

/** How long after the failed attempt a retry is offered, in milliseconds. */
const offeredForMs = 24 * 3_600_000;

export type LostPosts = {
  readonly count: number;
  /** The first hundred, by due time. */
  readonly postIds: readonly string[];
};

/** Finds the ended posts that failed on this channel within the last day because its access was lost. */
export async function lostPosts(
  em: Em,
  workspaceId: string,
  channelId: string,
  now: Date,
): Promise<LostPosts> {
  const rows = await queryPlanned(
    em,
    sql<{ id: string; count: number }>`
      select p.id, (count(*) over ())::int as count
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.status = 'failed'
        and pc.error_code = 'access_lost' and p.status = 'failed'
        and coalesce(pc.tried_at, ${dueAt('p')}) > ${new Date(now.getTime() - offeredForMs)}
      order by ${dueAt('p')}, p.id limit ${sql.lit(maxRetriedPosts)}`,
  );
  return { count: rows[0]?.count ?? 0, postIds: rows.map(({ id }) => id) };
}

/**
 * Sends the posts again to this channel only, spaced as overdue posts are. Skips a post that another call has retried,
 * or whose files were deleted.
 *
 * @returns the ids of the retried posts.
 * @throws AppError `plan_required`
 */
export async function retryLostPosts(
  deps: RetryDeps,
  caller: Pick<Caller, 'workspaceId' | 'plan'>,
  channelId: string,
  { postIds }: LostPosts,
): Promise<string[]> {
  assertHasPlan(caller);
  const retried: string[] = [];
  const nowMs = deps.now().getTime();
  for (const postId of postIds) {
    const at = new Date(nowMs + retried.length * lateSpacingMs);
    try {
      await retryPost(deps, caller, postId, { only: ['access_lost'], channelId, at });
      retried.push(postId);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'nothing_to_retry')) {
        throw error;
      }
    }
  }

  return retried;
}
