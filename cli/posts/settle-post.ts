import { settlePost } from '../../api/posts/settle-post.ts';
import { loadPostView } from '../../db/post-view.ts';
import { rulesOf } from '../../networks/registry.ts';
import type { CommandAnswer, CommandDeps } from '../command.ts';
import { findPost, leftToRelay } from './operated.ts';
import { oneLine } from './words.ts';

/** @throws AppError as the API's call, which this is. */
export async function settleOne(
  { orm, em, now, publicUrl }: CommandDeps,
  { POST: given = '', CHANNEL: channelId = '', published }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const { postId, workspaceId } = await findPost(em, given);
  const deps = { orm, now, publicUrl, rules: rulesOf, syncDelivery: leftToRelay };
  const settlement = { channelId, url: published ?? null };
  await settlePost(deps, { workspaceId, postId }, settlement);

  const view = await loadPostView(orm.em.fork(), workspaceId, postId, deps);
  const channel = view?.channels.find((one) => one.channel_id === channelId);
  const hasEnded = view?.status === 'published' || view?.status === 'failed';
  const heard = hasEnded
    ? 'Its webhooks hear of a new end from the worker, within a second or as soon as it and Temporal run.'
    : 'Its webhooks hear of it when the post ends.';
  const how = [channel?.status, channel?.url, channel?.error].filter(Boolean).join(': ');
  return {
    text: `Channel ${channelId} is ${oneLine(how)}\nPost ${postId} is ${view?.status}. ${heard}`,
    data: { post: view },
  };
}
