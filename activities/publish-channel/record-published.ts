import type { SentPart } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/**
 * The channel has its post: the address of a thread is that of its first part. What went out is what the ledger says,
 * since the post may have been edited between a send and the try that found out what became of it.
 */
export async function recordPublished(
  deps: ActivityDeps,
  target: PublishTarget,
  sent: readonly SentPart[],
): Promise<void> {
  const now = deps.now();
  const post = [target.postId, target.workspaceId];
  await deps.orm.em.fork().transactional(async (em) => {
    // The post before its channel, as everybody locks them: two that wait for each other would both be stuck.
    await em.execute(
      `update posts set published_at = coalesce(published_at, ?), updated_at = ?
       where id = ? and workspace_id = ?`,
      [now, now, ...post],
    );
    await em.execute(
      `update post_channels pc set status = 'published', url = ?, error = null, error_code = null,
         retry_at = null, published_at = coalesce(published_at, ?),
         sent_text = (select text from publish_attempts a where a.post_channel_id = pc.id
           and a.workspace_id = pc.workspace_id and a.part = 0 and a.state = 'sent'
           order by a.run desc limit 1)
       where id = ? and workspace_id = ?`,
      [sent[0]?.url, now, target.postChannelId, target.workspaceId],
    );
    // Only after a worker that was silent for long: the post had ended, with this channel unconfirmed.
    await em.execute(
      `update posts p set status = 'published'
       where id = ? and workspace_id = ? and status = 'failed' and not exists (
         select 1 from post_channels pc
         where pc.post_id = p.id and pc.workspace_id = p.workspace_id and pc.status <> 'published')`,
      post,
    );
  });
}
