import { ask } from '../../db/ask.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/**
 * The moment from which a cancel lets the channel finish. A channel of a post that is not publishing (any more) is not
 * tried: it was cancelled, or it waits for another time. The revision says that this is still so since the texts and
 * files were read, so that nothing older than the newest edit begins to go out.
 *
 * @returns false when it must not be tried.
 */
export async function begin(deps: ActivityDeps, target: PublishTarget): Promise<boolean> {
  const begun = await ask<{ id: string }>(
    deps.orm.em.fork(),
    `update post_channels pc set status = 'publishing', retry_at = null, tried_at = clock_timestamp()
     from posts p
     where pc.id = $1 and pc.workspace_id = $2 and p.id = pc.post_id and p.workspace_id = pc.workspace_id
       and pc.status in ('scheduled', 'publishing', 'retrying') and p.status = 'publishing' and p.revision = $3
     returning pc.id`,
    [target.postChannelId, target.workspaceId, target.revision],
  );
  return begun.length === 1;
}
