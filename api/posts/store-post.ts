import type { Channel } from '../../db/entities/channel.ts';
import { PostChannel } from '../../db/entities/post-channel.ts';
import { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import type { CreatePostBody } from './schemas.ts';

export type NewPost = {
  readonly id: string;
  /** Null: a draft. */
  readonly dueAt: Date | null;
  readonly warning: string | null;
  /** The idempotency key, if one was sent, and the request's fingerprint. */
  readonly key: string | undefined;
  readonly print: string;
};

class KeyTaken extends Error {}

/**
 * Stores a post with its channels and its idempotency key in one transaction. A second request with the same
 * key waits at the key's index until the first has committed.
 *
 * @returns false, with nothing stored, when the key is taken.
 */
export async function storePost(
  em: Em,
  workspaceId: string,
  request: CreatePostBody,
  channels: readonly Channel[],
  post: NewPost,
  now: Date,
): Promise<boolean> {
  try {
    await em.transactional(async (tx) => {
      createRows(tx, workspaceId, request, channels, post, now);
      await tx.flush();
      await claimKey(tx, workspaceId, post, now);
    });
    return true;
  } catch (error) {
    if (error instanceof KeyTaken) {
      return false;
    }

    throw error;
  }
}

function createRows(
  em: Em,
  workspaceId: string,
  request: CreatePostBody,
  channels: readonly Channel[],
  { id, dueAt, warning }: NewPost,
  now: Date,
): void {
  const status = dueAt ? 'scheduled' : 'draft';
  em.create(Post, {
    id,
    workspaceId,
    body: request.body ?? null,
    thread: request.thread ?? null,
    scheduledAt: dueAt,
    status,
    // There is nothing to tell Temporal of a draft.
    syncedRevision: dueAt ? 0 : 1,
    video: request.video ?? null,
    warning,
    publishedAt: null,
    createdAt: now,
    updatedAt: now,
  });
  for (const [position, channel] of channels.entries()) {
    em.create(PostChannel, {
      workspaceId,
      postId: id,
      channelId: channel.id,
      position,
      body: request.channel_bodies?.[channel.id] ?? null,
      status,
      url: null,
      error: null,
      errorCode: null,
      warning: null,
      retryAt: null,
      metrics: null,
      publishedAt: null,
    });
  }
}

async function claimKey(em: Em, workspaceId: string, post: NewPost, now: Date): Promise<void> {
  if (post.key === undefined) {
    return;
  }

  const claimed = await em.execute<{ key: string }[]>(
    `insert into idempotency_keys (workspace_id, key, fingerprint, post_id, created_at)
     values (?, ?, ?, ?, ?) on conflict do nothing returning key`,
    [workspaceId, post.key, post.print, post.id, now],
  );
  if (claimed.length === 0) {
    throw new KeyTaken();
  }
}
