import { PostChannel } from '../../db/entities/post-channels.ts';
import { Post } from '../../db/entities/posts.ts';
import { newId } from '../../db/new-id.ts';
import type { Em } from '../../db/orm.ts';
import { postStatuses, type ChannelStatus, type PostStatus } from '../../domain/statuses.ts';

/** Posts of each status: enough that some remain after the fuzzer edits and cancels others. */
const ofEach = 30;

/** Stores posts of every status, as the workflow leaves them. @returns their ids by status. */
export async function storePosts(
  em: Em,
  workspaceId: string,
  channelIds: readonly string[],
): Promise<Record<PostStatus, string[]>> {
  const ids: Record<PostStatus, string[]> = {
    draft: [],
    scheduled: [],
    publishing: [],
    published: [],
    failed: [],
  };
  for (const status of postStatuses) {
    for (let count = 0; count < ofEach; count += 1) {
      ids[status].push(createPost(em, workspaceId, channelIds, status));
    }
  }

  await em.flush();
  return ids;
}

function createPost(
  em: Em,
  workspaceId: string,
  channelIds: readonly string[],
  status: PostStatus,
): string {
  const id = newId();
  const now = new Date();
  em.create(Post, {
    id,
    workspaceId,
    body: `This one is ${status}.`,
    thread: null,
    scheduledAt: status === 'draft' ? null : now,
    status,
    syncedRevision: 1,
    video: null,
    warning: null,
    publishedAt: status === 'published' ? now : null,
  });
  for (const [position, channelId] of channelIds.entries()) {
    const channel = channelStatus(status, position);
    const isPublished = channel === 'published';
    em.create(PostChannel, {
      workspaceId,
      postId: id,
      channelId,
      position,
      body: null,
      status: channel,
      url: isPublished ? `https://social.example/${id}` : null,
      error: channel === 'failed' ? 'It did not work.' : null,
      errorCode: channel === 'failed' ? 'network_unavailable' : null,
      warning: null,
      retryAt: channel === 'retrying' ? now : null,
      metrics: isPublished ? { impressions: 12, likes: 3 } : null,
      metricsUpdatedAt: isPublished ? now : null,
      publishedAt: isPublished ? now : null,
    });
  }

  return id;
}

/** A failed post failed only on its first channel, and one in progress waits for an attempt there. */
function channelStatus(status: PostStatus, position: number): ChannelStatus {
  const first: Partial<Record<PostStatus, ChannelStatus>> = {
    failed: 'failed',
    publishing: 'retrying',
  };
  const others: Partial<Record<PostStatus, ChannelStatus>> = { failed: 'published' };
  return (position === 0 ? first[status] : others[status]) ?? status;
}
