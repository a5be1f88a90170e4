import { loadPostView } from './load-post-view.ts';
import type { Em } from './orm.ts';
import { recordEvent } from './record-event.ts';
import { finalEventType } from '../domain/events.ts';
import { statusOfBegunPost, type ChannelStatus } from '../domain/post-status.ts';

/**
 * Gives a post that had ended the end that follows from its channels now, and a new final event, which counts as a
 * publishing of its own: there is one event per run. The caller holds the post's lock.
 *
 * @returns the ids of the event's deliveries. They are in the outbox.
 */
export async function endAnew(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
  { publicUrl, now }: { readonly publicUrl: string; readonly now: Date },
): Promise<string[]> {
  const rows = await em.execute<{ status: ChannelStatus }[]>(
    'select status from post_channels where post_id = ? and workspace_id = ?',
    [postId, workspaceId],
  );
  const channels = rows.map(({ status }) => status);
  const type = finalEventType(channels);
  if (type === null) {
    return [];
  }

  const [post] = await em.execute<{ run: number }[]>(
    `update posts set status = ?, run = run + 1, updated_at = ?
     where id = ? and workspace_id = ? returning run`,
    [statusOfBegunPost(channels), now, postId, workspaceId],
  );
  const view = await loadPostView(em, workspaceId, postId, publicUrl);
  return recordEvent(em, {
    workspaceId,
    type,
    data: { post: view },
    final: { postId, run: post?.run ?? 0 },
    byOutbox: true,
  });
}
