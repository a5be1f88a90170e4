import { ask } from '../../db/ask.ts';
import { whatFollows } from '../../domain/what-follows.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Wait } from './admit.ts';
import { lockPublishing } from './begin.ts';
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
  const waits = await ask<{ id: string }>(
    deps.orm.em.fork(),
    `with ${lockPublishing('id = $1 and workspace_id = $2 and revision = $3')}
     update post_channels pc set status = 'retrying', error = $4, error_code = 'rate_limited', retry_at = $5
     from post p
     where pc.id = $6 and pc.workspace_id = $2 and pc.post_id = p.id and pc.status in ('scheduled', 'publishing', 'retrying')
     returning pc.id`,
    [
      target.postId,
      target.workspaceId,
      target.revision,
      `${message} ${whatFollows('rate_limited', atMs)}`,
      new Date(atMs),
      target.postChannelId,
    ],
  );
  return waits.length === 1;
}
