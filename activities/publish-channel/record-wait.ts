import { whatFollows } from '../../domain/what-follows.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Wait } from './admit.ts';
import type { PublishTarget } from './target.ts';

/**
 * Says why a channel waits and until when. Like `begin`, and for the same reasons, only while the post is publishing
 * what was read.
 *
 * @returns false when it is not, so that nothing is to be tried again.
 */
export async function recordWait(
  deps: ActivityDeps,
  target: PublishTarget,
  { atMs, message }: Wait,
): Promise<boolean> {
  const waits = await deps.orm.em.fork().execute<{ id: string }[]>(
    `update post_channels pc set status = 'retrying', error = ?, error_code = 'rate_limited', retry_at = ?
     from posts p
     where pc.id = ? and pc.workspace_id = ? and p.id = pc.post_id and p.workspace_id = pc.workspace_id
       and pc.status in ('scheduled', 'publishing', 'retrying') and p.status = 'publishing' and p.revision = ?
     returning pc.id`,
    [
      `${message} ${whatFollows('rate_limited', atMs)}`,
      new Date(atMs),
      target.postChannelId,
      target.workspaceId,
      target.revision,
    ],
  );
  return waits.length === 1;
}
