import { retryPost } from '../../api/posts/retry-post.ts';
import type { CommandAnswer, CommandDeps } from '../command.ts';
import { findPost, leftToRelay, mustHavePlan, toldSoon } from './operated.ts';

/** @throws AppError as the API's call, which this is. */
export async function retryOne(
  { orm, em, now }: CommandDeps,
  { POST: given = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const { postId, ...caller } = await findPost(em, given);
  mustHavePlan(caller);
  const retrying = await retryPost({ orm, now, syncPost: leftToRelay }, caller, postId);
  const channels = `${retrying.length} ${retrying.length === 1 ? 'channel' : 'channels'}`;
  return {
    text: `Post ${postId} is sent again to ${channels}: ${retrying.join(', ')}\n${toldSoon}`,
    data: { post_id: postId, workspace_id: caller.workspaceId, retrying },
  };
}
