import { viewPost, type ChannelFacts, type PostView } from '../domain/post-view.ts';
import { Channel } from './entities/channel.ts';
import { PostChannel } from './entities/post-channel.ts';
import { Post } from './entities/post.ts';
import type { Em } from './orm.ts';

/** A post in the one shape that the API answers and events carry; null when the workspace has no such post. */
export async function loadPostView(
  em: Em,
  workspaceId: string,
  postId: string,
): Promise<PostView | null> {
  const post = await em.findOne(Post, { id: postId, workspaceId });
  return post && viewPost(post, await channelFacts(em, workspaceId, postId));
}

async function channelFacts(em: Em, workspaceId: string, postId: string): Promise<ChannelFacts[]> {
  const results = await em.find(
    PostChannel,
    { postId, workspaceId },
    { orderBy: { position: 'asc' } },
  );
  const ids = results.map(({ channelId }) => channelId);
  const channels = await em.find(Channel, { id: { $in: ids }, workspaceId });
  const byId = new Map(channels.map((channel) => [channel.id, channel]));
  return results.map((result) => {
    const { platform = '', handle = '' } = byId.get(result.channelId) ?? {};
    return {
      channelId: result.channelId,
      status: result.status,
      platform,
      handle,
      body: result.body,
      url: result.url,
      error: result.error,
      errorCode: result.errorCode,
      warning: result.warning,
      retryAt: result.retryAt,
      metrics: result.metrics,
    };
  });
}
