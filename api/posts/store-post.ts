import type { Channel } from '../../db/entities/channel.ts';
import { PostChannel } from '../../db/entities/post-channel.ts';
import { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import type { ApiDeps } from '../deps.ts';
import { insertMedia } from '../media/insert-media.ts';
import type { NewMedia } from '../media/new-media.ts';
import { attachMedia, chooseMedia, type AttachedFile } from './attach-media.ts';
import {
  channelWarning,
  judgePost,
  mustBePublishable,
  warningFor,
  type Judgement,
} from './judge-post.ts';
import type { PostContent } from './post-content.ts';
import { unsent } from './write-channels.ts';

export type NewPost = {
  readonly id: string;
  /** Null: a draft. */
  readonly dueAt: Date | null;
  readonly content: PostContent;
  readonly mediaIds: readonly string[];
  /** The idempotency key, if one was sent, and the request's fingerprint. */
  readonly key: string | undefined;
  readonly print: string;
};

class KeyTaken extends Error {}

/**
 * Stores a post with its channels, its files and its idempotency key in one transaction. A second request with the
 * same key waits at the key's index until the first has committed.
 *
 * @param downloaded Files that the request named by URL; their rows are made here.
 * @returns false, with nothing stored, when the key is taken.
 * @throws AppError `invalid_media_ids`; `no_channels` or `invalid_content` for a post that is to be scheduled.
 */
export async function storePost(
  deps: ApiDeps,
  workspaceId: string,
  channels: readonly Channel[],
  post: NewPost,
  downloaded: readonly NewMedia[],
): Promise<boolean> {
  const now = deps.now();
  try {
    await deps.orm.em.fork().transactional(async (em) => {
      const attached: AttachedFile[] = [
        ...(await chooseMedia(em, workspaceId, post.mediaIds)).map((file) => ({
          file,
          fromUrl: false,
        })),
        ...insertMedia(em, workspaceId, downloaded, now).map((file) => ({ file, fromUrl: true })),
      ];
      const files = attached.map(({ file }) => file);
      const judgements = judgePost(deps.rules, channels, post.content, files);
      if (post.dueAt) {
        mustBePublishable(judgements);
      }

      createRows(em, workspaceId, post, judgements, now);
      await em.flush();
      await claimKey(em, workspaceId, post, now);
      if (attached.length > 0) {
        await attachMedia(em, workspaceId, post.id, attached);
      }
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
  { id, dueAt, content }: NewPost,
  judgements: readonly Judgement[],
  now: Date,
): void {
  const status = dueAt ? 'scheduled' : 'draft';
  em.create(Post, {
    id,
    workspaceId,
    body: content.body,
    thread: content.thread,
    scheduledAt: dueAt,
    status,
    // There is nothing to tell Temporal of a draft.
    syncedRevision: dueAt ? 0 : 1,
    retriedAt: null,
    video: content.video,
    warning: warningFor(judgements),
    publishedAt: null,
    createdAt: now,
    updatedAt: now,
  });
  for (const [position, judgement] of judgements.entries()) {
    const channelId = judgement.channel.id;
    const body = content.overrides[channelId] ?? null;
    const warning = channelWarning(judgement);
    em.create(PostChannel, {
      ...unsent,
      workspaceId,
      postId: id,
      channelId,
      position,
      body,
      status,
      warning,
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
