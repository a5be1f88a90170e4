import { markDue } from '../../db/analytics/mark-due.ts';
import { Post } from '../../db/entities/posts.ts';
import type { ServiceDeps } from '../deps.ts';
import { postNotFound } from '../../domain/api-keys.ts';

/**
 * Makes the metrics of a post's published channels due, at the next allowed time of networks with rare reads. The caller
 * starts the refresh; otherwise the schedule picks them up.
 */
export async function refreshPost(
  { orm, now, rules }: Pick<ServiceDeps, 'orm' | 'now' | 'rules'>,
  workspaceId: string,
  postId: string,
) {
  const askedAt = now();
  const em = orm.em.fork();
  if ((await em.count(Post, { id: postId, workspaceId })) === 0) {
    throw postNotFound(postId);
  }

  const rows = await markDue(em, { rules, askedAt, workspaceId, postId });
  const queued = rows.filter(({ refresh }) => refresh === 'queued');
  const networks = [...new Set(queued.map(({ platform }) => platform))];
  return {
    channels: rows.map(({ next_at: at, ...row }) =>
      Object.assign(row, { next_at: at?.toISOString() ?? null }),
    ),
    toRefresh: queued.length > 0 ? { workspaceId, postId, networks } : null,
  };
}
