import { PostChannel } from '../../../db/entities/post-channel.ts';
import { Post } from '../../../db/entities/post.ts';
import type { ChannelStatus } from '../../../domain/post-status.ts';
import type { Punctual } from '../../support/punctual.ts';

export type OnChannel = {
  readonly channelId: string;
  readonly status?: ChannelStatus;
  readonly metrics?: Readonly<Record<string, number>>;
};

/** Stores a post as the worker leaves it: published at a time, on these channels. @returns its id. */
export async function storePublished(
  { orm }: Punctual,
  workspaceId: string,
  { at, body = 'Hello.', on }: { at: string | null; body?: string; on: readonly OnChannel[] },
): Promise<string> {
  const em = orm.em.fork();
  const publishedAt = at === null ? null : new Date(at);
  const post = em.create(Post, {
    workspaceId,
    body,
    thread: null,
    scheduledAt: publishedAt,
    status: 'published',
    retriedAt: null,
    video: null,
    warning: null,
    publishedAt,
  });
  for (const [position, { channelId, status = 'published', metrics }] of on.entries()) {
    const isOut = status === 'published';
    em.create(PostChannel, {
      workspaceId,
      postId: post.id,
      channelId,
      position,
      body: null,
      status,
      url: isOut ? `https://social.test/${position}` : null,
      error: isOut ? null : 'No.',
      errorCode: isOut ? null : 'content_refused',
      warning: null,
      retryAt: null,
      sentText: body,
      metrics: metrics ?? null,
      metricsUpdatedAt: metrics ? new Date('2027-01-01T12:00:00.000Z') : null,
      publishedAt: isOut ? publishedAt : null,
    });
  }

  await em.flush();
  return post.id;
}
