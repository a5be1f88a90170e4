import type { Em } from '../db/orm.ts';
import { wakeDelayMs } from '../domain/wake-time.ts';
import type { PostToSync } from './sync-post.ts';

/**
 * When a post's workflow is to wake up: at the post's time, unless its workspace has hundreds of posts in that second.
 * What a user sees is the post's own time, and the workflow asks the database for it before it publishes.
 *
 * @returns ISO 8601 in UTC; null for a draft.
 */
export async function wakeTime(em: Em, post: PostToSync): Promise<string | null> {
  const { workspaceId, postId, status, dueAt } = post;
  if (status !== 'scheduled' || dueAt === null) {
    return dueAt;
  }

  // Bounded as the index `posts_due` has it: a workspace may have a hundred thousand posts that are not due then.
  const [row] = await em.execute<{ before: number }[]>(
    `select count(*)::int as before from posts
     where coalesce(retried_at, scheduled_at) between date_trunc('second', ?::timestamptz) and ?::timestamptz
       and (scheduled_at, id) < (?::timestamptz, ?::uuid) and workspace_id = ? and status = 'scheduled'`,
    [dueAt, dueAt, dueAt, postId, workspaceId],
  );
  return new Date(Date.parse(dueAt) + wakeDelayMs(row?.before ?? 0)).toISOString();
}
