import { sql } from 'kysely';
import { dueAt } from '../db/due-at.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { wakeDelayMs } from '../domain/wake-time.ts';
import type { PostToSync } from './sync-post.ts';

/**
 * When a post's workflow is to wake up: at the post's time, unless its workspace has hundreds of posts in that second.
 * What a user sees is the post's own time, and the workflow asks the database for it before it publishes.
 *
 * @returns ISO 8601 in UTC; null for a draft.
 */
export async function wakeTime(em: Em, post: PostToSync): Promise<string | null> {
  const { workspaceId, postId, status, dueAt: at } = post;
  if (status !== 'scheduled' || at === null) {
    return at;
  }

  // In the order of the index `posts_due_by_workspace`: thousands of others may be due in the same second.
  const [row] = await query<{ before: number }>(
    em,
    sql`select count(*)::int as before from posts
      where workspace_id = ${workspaceId} and status = 'scheduled'
        and ${dueAt()} between date_trunc('second', ${at}::timestamptz) and ${at}::timestamptz
        and (${dueAt()}, id) < (${at}::timestamptz, ${postId}::uuid)`,
  );
  return new Date(Date.parse(at) + wakeDelayMs(row?.before ?? 0)).toISOString();
}
