import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/** The channel has its post: the address of a thread is that of its first part. */
export async function recordPublished(
  deps: ActivityDeps,
  target: PublishTarget,
  sent: readonly SentPart[],
): Promise<void> {
  const now = deps.now();
  await deps.orm.em.fork().transactional(async (em) => {
    // The post before its channel, as everybody locks them: two that wait for each other would both be stuck.
    await em.execute(
      `update posts set published_at = coalesce(published_at, ?), updated_at = ?
       where id = ? and workspace_id = ?`,
      [now, now, target.postId, target.workspaceId],
    );
    await em.execute(
      `update post_channels set status = 'published', url = ?, sent_text = ?, error = null, error_code = null,
         retry_at = null, published_at = coalesce(published_at, ?)
       where id = ? and workspace_id = ?`,
      [sent[0]?.url, target.texts[0], now, target.postChannelId, target.workspaceId],
    );
  });
}
