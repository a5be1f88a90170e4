import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';

/** A post as an operator names it, and whose it is. */
export type OperatedPost = {
  readonly postId: string;
  readonly workspaceId: string;
  readonly plan: string | null;
};

/**
 * Finds a post by its id, or by that of its workflow, in whichever workspace it is.
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
      `There is no post "${given}"; "npm run admin -- post list --failed" shows some, and the API the others.`,
    );
  }

  return { postId, workspaceId: row.workspace_id, plan: row.plan };
}

/**
 * The commands write the database only, so that they work while Temporal is away: a row that lags behind is the outbox,
 * and the relay syncs it.
 */
export const leaveToRelay = (): void => undefined;

export const syncedSoon =
  'The worker syncs it with Temporal within a second, or as soon as both of them run.';
