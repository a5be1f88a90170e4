import { Channel } from '../../db/entities/channels.ts';
import { Post } from '../../db/entities/posts.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { channelsOfPost } from '../../db/repositories/posts.ts';
import { assertReachesPost, postNotFound, reaches } from '../../domain/api-keys.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { assertReachesChannel } from '../keys/channel-restriction.ts';
import { channelNotFound } from '../../db/repositories/channels.ts';

/**
 * Reads a post for a caller, also to repeat an earlier answer: the post may be on other channels by now.
 *
 * @throws AppError `not_found`, also for a post on none of the caller's channels.
 */
export async function showPost(
  deps: Pick<ServiceDeps, 'orm' | 'publicUrl' | 'rules'>,
  caller: Pick<Caller, 'workspaceId' | 'channelIds'>,
  postId: string,
): Promise<PostView> {
  const post = await loadPostView(deps.orm.em.fork(), caller.workspaceId, postId, deps);
  const isReached =
    caller.channelIds === null || post?.channels.some(({ channel_id: id }) => reaches(caller, id));
  if (!post || !isReached) {
    throw postNotFound(postId);
  }

  return post;
}

export async function assertReachesStored(
  em: Em,
  { workspaceId, channelIds }: Pick<Caller, 'workspaceId' | 'channelIds'>,
  postId: string,
  to: 'read' | 'change',
): Promise<void> {
  if (channelIds !== null) {
    const ofPost = await channelsOfPost(em, { workspaceId, postId });
    assertReachesPost({ channelIds }, postId, ofPost, to);
  }
}

/**
 * Refuses a filter by a channel or a post that the workspace does not have, or that the key does not reach: the list
 * would be empty without a word.
 */
export async function assertKnownFilter(
  em: Em,
  holder: Pick<Caller, 'workspaceId' | 'channelIds'>,
  {
    channelId,
    postId,
  }: { readonly channelId?: string | undefined; readonly postId?: string | undefined },
): Promise<void> {
  const { workspaceId } = holder;
  if (channelId !== undefined) {
    assertReachesChannel(holder, channelId);
    if ((await em.count(Channel, { id: channelId, workspaceId })) === 0) {
      throw channelNotFound(channelId);
    }
  }

  if (postId !== undefined) {
    await assertReachesStored(em, holder, postId, 'read');
    if ((await em.count(Post, { id: postId, workspaceId })) === 0) {
      throw postNotFound(postId);
    }
  }
}
