import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';

/** Every id of ours. */
const id = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/v;

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
  const [row] = id.test(postId)
    ? await em.execute<{ workspace_id: string; plan: string | null }[]>(
        'select p.workspace_id, w.plan from posts p join workspaces w on w.id = p.workspace_id where p.id = ?',
        [postId],
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

/** @throws AppError `plan_required`, with the way out of it. */
export function mustHavePlan({ workspaceId, plan }: Omit<OperatedPost, 'postId'>): void {
  if (plan === null) {
    throw new AppError(
      'plan_required',
      `Workspace ${workspaceId} has no plan, and without one nothing of it is sent again. "npm run admin -- workspace plan ${workspaceId} standard" gives it one.`,
    );
  }
}

/** The commands write the database only, so that they work while Temporal is away. */
export const toldSoon =
  'The worker tells Temporal of it within a second, or as soon as both of them run.';

/** What the use cases of the API would tell Temporal: a row that lags behind is the outbox, and the relay reads it. */
export const leftToRelay = (): void => undefined;
