import { ask } from '../../db/ask.ts';
import { failureAdvice } from '../../domain/channel-error.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Wait } from './admit.ts';
import { lockPost, statusOf } from './begin.ts';
import { leavePlace, placeValues } from './server-place.ts';
import type { PublishTarget } from './target.ts';

/**
 * Says why a channel waits and until when. Like `begin`, and for the same reasons, only while the post is publishing
 * what was read. The place at its server, if the try had one, is free again in any case.
 *
 * @returns false when it is not, so that nothing is to be tried again.
 */
export async function recordWait(
  deps: ActivityDeps,
  target: PublishTarget,
  { atMs, code, message }: Wait,
): Promise<boolean> {
  const waits = await ask<{ id: string }>(
    deps.orm.em.fork(),
    `with ${lockPost(statusOf(target), 'id = $1 and workspace_id = $2 and revision = $3')},
     place as (${leavePlace(8, 'false')})
     update post_channels pc set status = 'retrying', error = $4, error_code = $7, retry_at = $5
     from post p
     where pc.id = $6 and pc.workspace_id = $2 and pc.post_id = p.id and pc.status in ('scheduled', 'publishing', 'retrying')
     returning pc.id`,
    [
      target.postId,
      target.workspaceId,
      target.revision,
      `${message} ${failureAdvice(code, atMs)}`,
      new Date(atMs),
      target.postChannelId,
      code,
      ...placeValues(target),
    ],
  );
  return waits.length === 1;
}
