import { recordAudit } from '../../db/audit.ts';
import type { Post } from '../../db/entities/posts.ts';
import { lockPost, type PostOnChannel } from '../../db/repositories/posts.ts';
import { AppError } from '../../domain/errors.ts';
import { isSent } from '../../domain/live-parts.ts';
import { isWithheld } from '../../domain/post-view.ts';
import type { ChannelStatus } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { PostChange } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { namesOfChannels, settleFirst } from './choose-channels.ts';

/**
 * Requests the removal of a post from its networks. Channels that were removed before, or are being removed, stay as
 * they are, so that a call can be repeated.
 *
 * @param channelIds Limits it to these channels. Default: all of the post.
 * @returns the post to sync with Temporal; null if everything was removed before.
 */
export async function unpublishPost(
  deps: Pick<ServiceDeps, 'orm' | 'now'>,
  change: PostChange,
  channelIds?: readonly string[],
): Promise<PostToSync | null> {
  const { workspaceId, postId, requestId } = change;
  const now = deps.now();
  return deps.orm.em.fork().transactional(async (em) => {
    const { post, channels } = await lockPost(em, change);
    const chosen = choose(channels, channelIds);
    assertEnded(chosen, post, channels.length > 1);
    const wanted = chosen.filter(isToRemove);
    assertConnected(wanted, channels.length > 1);
    const isUnderWay = chosen.some(({ row }) => row.unpublish?.status === 'pending');
    if (wanted.length === 0 && !chosen.some(isKnown)) {
      throw nothingToUnpublish(whyNothing(channels, chosen, postId));
    }

    if (wanted.length === 0 && !isUnderWay) {
      return null;
    }

    if (wanted.length > 0) {
      const why = { requested_at: now.toISOString(), error: null, error_code: null };
      for (const { row } of wanted) {
        row.unpublish = { status: 'pending', ...why };
      }

      post.updatedAt = now;
      await recordAudit(em, change, 'post.unpublished', postId);
    }

    post.isBeingRemoved = true;
    // In the outbox with the same revision, because a higher one would stop attempts on other channels.
    post.syncedRevision = post.revision - 1;
    const { status, revision } = post;
    const dueAt = (post.retriedAt ?? post.scheduledAt)?.toISOString() ?? null;
    return { workspaceId, postId, status, revision, dueAt, isBeingRemoved: true, requestId };
  });
}

function choose(
  channels: readonly PostOnChannel[],
  channelIds?: readonly string[],
): readonly PostOnChannel[] {
  const details = (channelIds ?? []).flatMap((id, index) =>
    channels.some(({ account }) => account.id === id)
      ? []
      : [{ path: `/channel_ids/${index}`, message: `This post has no channel "${id}".` }],
  );
  const [first] = details;
  if (first) {
    throw new AppError('invalid_channel_ids', first.message, { details });
  }

  return channelIds ? channels.filter(({ account }) => channelIds.includes(account.id)) : channels;
}

/** Whether the post is being removed from the channel, or is no longer there. */
const isKnown = ({ row }: PostOnChannel): boolean => isWithheld(row.unpublish);

/** A settled post may have no ledger. */
const isToRemove = (channel: PostOnChannel): boolean =>
  (channel.row.status === 'published' || channel.parts.some(isSent)) && !isKnown(channel);

const mayBeLive: ReadonlySet<ChannelStatus> = new Set(['publishing', 'retrying', 'unconfirmed']);

function whyNothing(
  channels: readonly PostOnChannel[],
  chosen: readonly PostOnChannel[],
  postId: string,
): string {
  const live = channels.filter(isToRemove);
  const none = `The post is not live on ${namesOfChannels(chosen)}.`;
  if (live.length > 0) {
    return `${none} It is live on ${namesOfChannels(live)}: name it in channel_ids, or leave channel_ids out.`;
  }

  if (channels.some(isKnown)) {
    return `${none} Its other channels are removed already, or being removed, so there is nothing to do.`;
  }

  return channels.some(({ row }) => mayBeLive.has(row.status))
    ? none
    : `The post was published on no channel, so there is nothing to remove. DELETE /posts/${postId} deletes it here.`;
}

/** @throws AppError `nothing_to_unpublish` if a channel may still get the post, or may have it. */
function assertEnded(
  channels: readonly PostOnChannel[],
  { id: postId, status }: Pick<Post, 'id' | 'status'>,
  hasOthers: boolean,
): void {
  const others = otherChannels(hasOthers);
  const named = (...statuses: readonly ChannelStatus[]): string =>
    namesOfChannels(channels.filter(({ row }) => statuses.includes(row.status)));
  const open = named('scheduled', 'publishing', 'retrying');
  if (open !== '') {
    // The channels of a draft are finishing after a cancel.
    const orCancel =
      status === 'draft' ? '' : `, or cancel the post first (POST /posts/${postId}/cancel)`;
    throw nothingToUnpublish(
      `Publishing has not ended on ${open}. Wait for its end${orCancel}.${others}`,
    );
  }

  const unconfirmed = channels.filter(({ row }) => row.status === 'unconfirmed');
  if (unconfirmed.length > 0) {
    throw nothingToUnpublish(`${settleFirst(postId, unconfirmed)}${others}`);
  }
}

function assertConnected(wanted: readonly PostOnChannel[], hasOthers: boolean): void {
  const gone = namesOfChannels(wanted.filter(({ account }) => account.disconnectedAt !== null));
  if (gone !== '') {
    throw nothingToUnpublish(
      `The account was disconnected: ${gone}. Connect it again, then unpublish the post.${otherChannels(hasOthers)}`,
    );
  }
}

const otherChannels = (hasOthers: boolean): string =>
  hasOthers ? ' Name the other channels in channel_ids to remove the post there now.' : '';

const nothingToUnpublish = (message: string): AppError =>
  new AppError('nothing_to_unpublish', message);
