import { retryPost } from '../../api/posts/retry-post.ts';
import { settlePost } from '../../api/posts/settle-post.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import { AppError } from '../../domain/errors.ts';
import type { CommandAnswer, CommandDeps } from '../command.ts';
import { findPost, leaveToRelay, syncedSoon, type OperatedPost } from './find-post.ts';
import { oneLine } from './format.ts';

/** @throws AppError as the API's call does. */
export async function retryOne(
  { orm, em, now }: CommandDeps,
  { POST: given = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const { postId, ...caller } = await findPost(em, given);
  assertHasPlan(caller);
  const retrying = await retryPost({ orm, now, syncPost: leaveToRelay }, caller, postId);
  const channels = `${retrying.length} ${retrying.length === 1 ? 'channel' : 'channels'}`;
  return {
    text: `Post ${postId} is sent again to ${channels}: ${retrying.join(', ')}\n${syncedSoon}`,
    data: { post_id: postId, workspace_id: caller.workspaceId, retrying },
  };
}

/** @throws AppError as the API's call does. */
export async function settleOne(
  { orm, em, now, publicUrl, networks: { rules } }: CommandDeps,
  { POST: given = '', CHANNEL: channelId = '', published }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const { postId, workspaceId } = await findPost(em, given);
  const deps = { orm, now, publicUrl, rules, syncDelivery: leaveToRelay };
  const settlement = { channelId, url: published ?? null };
  await settlePost(deps, { workspaceId, postId }, settlement);

  const view = await loadPostView(orm.em.fork(), workspaceId, postId, deps);
  const channel = view?.channels.find((one) => one.channel_id === channelId);
  const hasEnded = view?.status === 'published' || view?.status === 'failed';
  const next = hasEnded
    ? 'Its webhooks get a new final event within a second, or as soon as the worker and Temporal run.'
    : 'Its webhooks get its final event when the post ends.';
  const how = [channel?.status, channel?.url, channel?.error].filter(Boolean).join(': ');
  return {
    text: `Channel ${channelId} is ${oneLine(how)}\nPost ${postId} is ${view?.status}. ${next}`,
    data: { post: view },
  };
}

/** @throws AppError `plan_required`, with the command that helps. */
function assertHasPlan({ workspaceId, plan }: Omit<OperatedPost, 'postId'>): void {
  if (plan === null) {
    throw new AppError(
      'plan_required',
      `Workspace ${workspaceId} has no plan, so its posts cannot be retried. Set one with "npm run admin -- workspace plan ${workspaceId} standard".`,
    );
  }
}
