import { ask } from '../db/ask.ts';
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

  // In the order of the index `posts_due_by_workspace`: thousands of others may be due in the same second.
  const [row] = await ask<{ before: number }>(
    em,
    `select count(*)::int as before from posts
     where workspace_id = $1 and status = 'scheduled'
       and coalesce(retried_at, scheduled_at) between date_trunc('second', $2::timestamptz) and $2::timestamptz
       and (coalesce(retried_at, scheduled_at), id) < ($2::timestamptz, $3::uuid)`,
    [workspaceId, dueAt, postId],
  );
  return new Date(Date.parse(dueAt) + wakeDelayMs(row?.before ?? 0)).toISOString();
}
