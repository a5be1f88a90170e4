import { Workspace } from '../../db/entities/workspace.ts';
import { lostPosts, retryLostPosts } from '../channels/retry-lost-posts.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { ApiDeps } from '../deps.ts';
import type { ConnectStep } from './begin.ts';
import { Problem } from './problem.ts';

/** Counts the posts that failed only because the account of this link had lost its access. */
export async function countLostPosts(
  { orm, now }: Pick<ApiDeps, 'orm' | 'now'>,
  step: Pick<ConnectStep, 'link' | 'browser'>,
): Promise<number> {
  const { link } = step;
  if (link.connectedId === null || link.expiresAt <= now() || !isOwn(step)) {
    return 0;
  }

  return (await lostPosts(orm.em.fork(), link.workspaceId, link.connectedId, now())).count;
}

/**
 * Retries those posts for the person who has just connected the account, until the link expires.
 *
 * @returns how many.
 * @throws Problem `used`; AppError `plan_required`
 */
export async function sendLostPosts(deps: ApiDeps, step: ConnectStep): Promise<number> {
  const { link } = step;
  const { connectedId, workspaceId } = link;
  if (connectedId === null || link.expiresAt <= deps.now() || !isOwn(step)) {
    throw new Problem('used', 'This link has ended. Retry the posts in your own application.');
  }

  const em = deps.orm.em.fork();
  const found = await lostPosts(em, workspaceId, connectedId, deps.now());
  const workspace = await em.findOneOrFail(Workspace, { id: workspaceId });
  const caller = { workspaceId, plan: workspace.plan };
  return (await retryLostPosts(deps, caller, connectedId, found)).length;
}

const isOwn = ({ link, browser }: Pick<ConnectStep, 'link' | 'browser'>): boolean =>
  link.status === 'connected' && sha256Hex(browser) === link.browserHash;
