import { sql } from 'kysely';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { isNotWithheld, retryChannels } from '../../db/channel-status.ts';
import type { Channel } from '../../db/entities/channels.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { channelErrorCodes, type ChannelErrorCode } from '../../domain/channel-error.ts';
import { AppError } from '../../domain/errors.ts';
import { assertHasPlan } from '../../domain/quotas.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { Caller, PostScope } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { nameOfChannel, settleFirst } from './choose-channels.ts';
import { lockPostMedia } from './post-media.ts';
import { lockPost } from './read-posts.ts';

type Retried = {
  /** Ids of the retried channels. */
  readonly retrying: string[];
  readonly toSync: PostToSync;
};

/**
 * Sends an ended post again to its failed channels.
 *
 * @param only Limits the retry to channels with one of these codes.
 * @param channelId Limits the retry to this channel.
 * @param at When the post is sent; now by default.
 * @throws AppError `plan_required`, `not_found` or `nothing_to_retry`.
 */
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
): Promise<Retried> {
  assertHasPlan(caller);
  const { workspaceId, requestId } = caller;
  const now = deps.now();
  const reach = channelId === undefined ? {} : { channelIds: null }; // It changes only this channel.
  const { revision, retrying } = await deps.orm.em.fork().transactional(async (em) => {
    const post = await lockPost(em, { ...caller, ...reach, postId });
    if (post.status !== 'published' && post.status !== 'failed') {
      const next =
        post.status === 'publishing' ? ' A channel that waits is tried again at its retry_at.' : '';
      throw nothingToRetry(
        `The post is ${post.status === 'draft' ? 'a draft' : post.status}; only one that has ended can be retried.${next}`,
      );
    }

    await assertMediaComplete(em, { workspaceId, postId });
    const channels = await retryChannels(em, { workspaceId, postId }, only, channelId);
    if (channels.length === 0) {
      throw await noRetryError(em, { workspaceId, postId });
    }

    const [changed] = await query(
      em,
      sql<{ revision: number }>`
        update posts set status = 'publishing', run = run + 1, retried_at = ${at}, revision = revision + 1,
          updated_at = ${now}
        where id = ${postId} and workspace_id = ${workspaceId}
        returning revision`,
    );
    await recordAudit(em, caller, 'post.retried', postId);
    const { revision: raised = 0 } = changed ?? {};
    return { revision: raised, retrying: channels };
  });
  const dueAt = at.toISOString();
  const what = { workspaceId, postId, status: 'publishing', revision };
  const toSync = { ...what, dueAt, requestId };
  return { retrying, toSync };
}

/** A retry must not publish less than the original post. */
async function assertMediaComplete(em: Em, scope: PostScope): Promise<void> {
  const files = await lockPostMedia(em, scope);
  const missing = files.filter((file) => file.isDeleted);
  if (missing.length > 0) {
    throw nothingToRetry(
      `Files of this post were deleted: ${missing.map(({ name }) => name).join(', ')}. Make a new post.`,
    );
  }
}

async function noRetryError(em: Em, { workspaceId, postId }: PostScope): Promise<AppError> {
  type Left = Pick<Channel, 'id' | 'platform' | 'handle'> & {
    readonly why: 'unconfirmed' | 'disconnected' | 'removed';
  };
  const left = await query(
    em,
    sql<Left>`
      select c.id, c.platform, c.handle, case when pc.status = 'unconfirmed' then 'unconfirmed'
          when c.disconnected_at is not null then 'disconnected' else 'removed' end as why
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
        and (pc.status = 'unconfirmed'
          or (pc.status = 'failed' and (c.disconnected_at is not null or not ${isNotWithheld})))
      order by pc.position`,
  );
  const named = (why: Left['why']): string =>
    left
      .filter((one) => one.why === why)
      .map(nameOfChannel)
      .join(', ');
  const [gone, removed] = [named('disconnected'), named('removed')];
  if (gone !== '') {
    return nothingToRetry(
      `The account was disconnected: ${gone}. Connect it again, then retry the post.`,
    );
  }

  if (removed !== '') {
    return nothingToRetry(
      `Unpublished, so not sent again: ${removed}. Make a new post to publish it there.`,
    );
  }

  return nothingToRetry(
    left.length > 0
      ? settleFirst(postId, left) // All that is left is unconfirmed.
      : 'No channel of this post has failed.',
  );
}

const nothingToRetry = (message: string): AppError => new AppError('nothing_to_retry', message);
