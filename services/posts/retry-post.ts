import { recordAudit, type Actor } from '../../db/audit.ts';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { lockPost, type PostOnChannel } from '../../db/repositories/posts.ts';
import { lockPostMedia } from '../../db/repositories/media.ts';
import { waiting } from '../../domain/channel-changes.ts';
import { channelErrorCodes, type ChannelErrorCode } from '../../domain/channel-error.ts';
import { AppError } from '../../domain/errors.ts';
import { isWithheld } from '../../domain/post-view.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { Caller } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { namesOfChannels, settleFirst } from './choose-channels.ts';

export async function retryPost(
  deps: Pick<ServiceDeps, 'orm' | 'now'>,
  caller: Actor & Pick<Caller, 'plan'>,
  postId: string,
  {
    only = channelErrorCodes,
    channelId,
    at = deps.now(),
  }: {
    readonly only?: readonly ChannelErrorCode[];
    readonly channelId?: string;
    readonly at?: Date;
  } = {},
) {
  assertHasPlan(caller);
  const { workspaceId, requestId } = caller;
  const now = deps.now();
  const reach = channelId === undefined ? {} : { channelIds: null }; // It changes only this channel.
  return deps.orm.em.fork().transactional(async (em) => {
    const { post, channels } = await lockPost(em, { ...caller, ...reach, postId });
    if (post.status !== 'published' && post.status !== 'failed') {
      const next =
        post.status === 'publishing' ? ' A channel that waits is tried again at its retry_at.' : '';
      throw nothingToRetry(
        `The post is ${post.status === 'draft' ? 'a draft' : post.status}; only one that has ended can be retried.${next}`,
      );
    }

    await assertMediaComplete(em, post);
    const chosen = channels.filter(
      (channel) =>
        canBeRetried(channel) &&
        only.includes(channel.row.errorCode ?? 'internal') &&
        (channelId ?? channel.account.id) === channel.account.id,
    );
    if (chosen.length === 0) {
      throw noRetryError(postId, channels);
    }

    for (const { row } of chosen) {
      Object.assign(row, { ...waiting('scheduled'), tries: 0, textDueAt: now });
    }

    post.status = 'publishing';
    post.run += 1;
    post.retriedAt = at;
    post.revision += 1;
    post.updatedAt = now;
    await recordAudit(em, caller, 'post.retried', postId);
    const { status, revision } = post;
    const dueAt = at.toISOString();
    const toSync: PostToSync = { workspaceId, postId, status, revision, dueAt, requestId };
    return { retrying: chosen.map(({ account }) => account.id), toSync };
  });
}

const canBeRetried = ({ row, account }: PostOnChannel): boolean =>
  row.status === 'failed' && !isWithheld(row.unpublish) && account.disconnectedAt === null;

/** A retry must not publish less than the original post. */
async function assertMediaComplete(em: Em, post: Post): Promise<void> {
  const files = await lockPostMedia(em, post);
  const missing = files.filter((file) => file.isDeleted);
  if (missing.length > 0) {
    throw nothingToRetry(
      `Files of this post were deleted: ${missing.map(({ name }) => name).join(', ')}. POST /posts/${post.id}/copy with {"only": "failed"} makes a draft without them, which warns about what is live.`,
    );
  }
}

function noRetryError(postId: string, channels: readonly PostOnChannel[]): AppError {
  const failed = channels.filter(({ row }) => row.status === 'failed');
  const gone = namesOfChannels(failed.filter(({ account }) => account.disconnectedAt !== null));
  if (gone !== '') {
    return nothingToRetry(
      `The account was disconnected: ${gone}. Connect it again, then retry the post.`,
    );
  }

  const removed = namesOfChannels(failed.filter(({ row }) => isWithheld(row.unpublish)));
  if (removed !== '') {
    return nothingToRetry(
      `Unpublished, so not sent again: ${removed}. Make a new post to publish it there.`,
    );
  }

  const unconfirmed = channels.filter(({ row }) => row.status === 'unconfirmed');
  return nothingToRetry(
    unconfirmed.length > 0
      ? settleFirst(postId, unconfirmed)
      : 'No channel of this post has failed.',
  );
}

const nothingToRetry = (message: string): AppError => new AppError('nothing_to_retry', message);
