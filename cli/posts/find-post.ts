import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';

/** A post and its workspace. */
export type OperatedPost = {
  readonly postId: string;
  readonly workspaceId: string;
  readonly plan: string | null;
};

/**
 * Finds a post in any workspace by its id or its workflow's id.
 *
 * @throws AppError `not_found`
 */
export async function findPost(em: Em, given: string): Promise<OperatedPost> {
  const postId = given.replace(/^post-/v, '');
  const [row] = isId(postId)
    ? await query(
        em,
        sql<{ workspace_id: string; plan: string | null }>`
          select p.workspace_id, w.plan from posts p join workspaces w on w.id = p.workspace_id
          where p.id = ${postId}`,
      )
    : [];
  if (!row) {
    throw new AppError(
      'not_found',
      `There is no post "${given}"; "npm run admin -- post list --failed" and the API show post ids.`,
    );
  }

  return { postId, workspaceId: row.workspace_id, plan: row.plan };
}

/**
 * Commands write only the database, so that they work while Temporal is unavailable: the changed row is in the outbox,
 * and the relay syncs it.
 */
export const leaveToRelay = (): void => undefined;

export const syncedSoon =
  'The worker syncs it with Temporal within a second, or as soon as both of them run.';
