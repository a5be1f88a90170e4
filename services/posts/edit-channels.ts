import { LockMode } from '@mikro-orm/core';
import { waitingRow } from '../../db/channel-status.ts';
import { PostChannel } from '../../db/entities/post-channels.ts';
import type { Post } from '../../db/entities/posts.ts';
import { possiblyLiveParts, removeParts, type PossiblyLivePart } from '../../db/ledger/parts.ts';
import type { PostPresentation } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { finalizeIfPublished } from '../../db/refinalize-post.ts';
import { AppError } from '../../domain/errors.ts';
import { assertChosen, chooseChannels, type ChosenChannel } from './choose-channels.ts';
import { bytesOfJson, contentBytes, type PostContent, type PostInput } from './content.ts';
import { channelWarning, channelWarnings, type ChannelValidation } from './validate-content.ts';

export type EditedChannels = {
  /**
   * Channels that the post is still to be sent to, with the defaults for validation: the channel's current ones, or
   * the stored ones when a part is already live.
   */
  readonly open: readonly ChosenChannel[];
  /** Channels on which an attempt began before the post was cancelled, and will finish. */
  readonly sending: readonly ChosenChannel[];
  /** Rows to keep, by channel id. */
  readonly kept: ReadonlyMap<string, PostChannel>;
  readonly removed: readonly PostChannel[];
  /** All channel ids of the edited post, in their order. */
  readonly order: readonly string[];
  /** The channels' own texts, options and files before the edit, by channel id. */
  readonly overrides: PostContent['overrides'];
  readonly options: PostContent['options'];
  readonly channelFiles: PostContent['channelFiles'];
};

/**
 * Computes the channels of a post after an edit. A channel whose post is or may be live stays, whatever `channel_ids`
 * says, and is not sent to again. A disconnected channel stays like any other.
 *
 * @throws AppError `invalid_channel_ids`, or `post_not_editable` while parts of it are being removed.
 */
export async function editChannels(em: Em, post: Post, input: PostInput): Promise<EditedChannels> {
  const { id: postId, workspaceId } = post;
  const rows = await em.find(
    PostChannel,
    { postId, workspaceId },
    { orderBy: { position: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  assertNotBeingRemoved(rows);
  const asked = input.channelIds ?? rows.map(({ channelId }) => channelId);
  const parts = await possiblyLiveParts(
    em,
    workspaceId,
    rows.map(({ id }) => id),
  );
  const liveChannelIds = new Set(parts.map((part) => part.channel_id));
  const at = (id: string): string => `/channel_ids/${asked.indexOf(id)}`;
  const had = rows.map(({ channelId }) => channelId);
  const wanted = await chooseChannels(em, workspaceId, asked, at, had);
  const ids = new Set(wanted.map(({ id }) => id));
  const stays = (row: PostChannel): boolean => ids.has(row.channelId) || !canBeSent(row);
  const kept = rows.filter(stays);
  const removed = rows.filter((row) => !kept.includes(row));
  assertNothingLive(removed, parts);
  const order = [...new Set([...ids, ...kept.map(({ channelId }) => channelId)])];
  assertChosen(order, input);
  const byChannel = new Map(kept.map((row) => [row.channelId, row]));
  const sending = rows.filter(({ status }) => status === 'publishing' || status === 'retrying');
  const withKept = (channel: ChosenChannel): ChosenChannel => ({
    ...channel,
    options: byChannel.get(channel.id)?.defaults ?? null,
  });
  const sendingIds = sending.map(({ channelId }) => channelId);
  const sendingTo = await chooseChannels(em, workspaceId, sendingIds, at, had);
  return {
    sending: sendingTo.map(withKept),
    open: wanted
      .filter(({ id }) => canBeSent(byChannel.get(id)))
      .map((channel) => (liveChannelIds.has(channel.id) ? withKept(channel) : channel)),
    kept: byChannel,
    removed,
    order,
    overrides: Object.fromEntries(
      kept.flatMap((row) => (row.body === null ? [] : [[row.channelId, row.body]])),
    ),
    options: Object.fromEntries(
      kept.flatMap((row) => (row.options ? [[row.channelId, row.options]] : [])),
    ),
    channelFiles: Object.fromEntries(
      kept.flatMap((row) => (row.media ? [[row.channelId, row.media]] : [])),
    ),
  };
}

/** A channel whose live parts are being removed must not be scheduled again. @throws AppError `post_not_editable` */
function assertNotBeingRemoved(rows: readonly PostChannel[]): void {
  if (rows.some(({ unpublish }) => unpublish?.status === 'pending')) {
    throw new AppError(
      'post_not_editable',
      'The post is being removed from a network. Change it when no channel shows `unpublish.status` `pending`.',
    );
  }
}

/** Neither published, being sent nor in doubt. A channel that is new to the post can be sent. */
const canBeSent = (row: PostChannel | undefined): boolean =>
  row === undefined || ['draft', 'scheduled', 'failed'].includes(row.status);

/**
 * A channel with a live part of a thread cannot be removed: its ledger rows would be lost, and adding the channel
 * again would send that part twice.
 */
function assertNothingLive(
  removed: readonly PostChannel[],
  parts: readonly PossiblyLivePart[],
): void {
  const liveChannelIds = new Set(parts.map((part) => part.channel_id));
  const channelIds = removed
    .map(({ channelId }) => channelId)
    .filter((id) => liveChannelIds.has(id));
  if (channelIds.length > 0) {
    const message = `A part of the thread is live on ${channelIds.join(', ')}, so it stays among the post's channels.`;
    throw new AppError('invalid_channel_ids', message, {
      details: channelIds.map((id) => ({ path: '/channel_ids', message, channel_id: id })),
    });
  }
}

/** An edit that removes the last unsent channels of a cancelled post ends the post. */
export async function endWithout(
  em: Em,
  { id: postId, workspaceId }: Post,
  { removed }: EditedChannels,
  at: PostPresentation & { readonly now: Date },
): Promise<void> {
  if (removed.length > 0) {
    await em.flush();
    await finalizeIfPublished(em, { workspaceId, postId }, at);
  }
}

/** The texts, options and files that a channel has instead of the post's. */
type Own = Pick<PostChannel, 'body' | 'options' | 'media'>;
type Kept = Own & Pick<PostChannel, 'defaults'>;

const keptBytes = (channels: readonly Kept[]): number =>
  channels.reduce(
    (sum, row) =>
      sum + bytesOfJson(row.options) + bytesOfJson(row.defaults) + bytesOfJson(row.media),
    0,
  ) + contentBytes(channels.map(({ body }) => body));

/** Fields of a channel without attempts. */
const unsent = {
  url: null,
  error: null,
  errorCode: null,
  retryAt: null,
  sentText: null,
  sentWarning: null,
  metrics: null,
  metricsUpdatedAt: null,
  nextMetricsAt: null,
  goneAt: null,
  publishedAt: null,
  unpublish: null,
};

const warnedOf = (validation: ChannelValidation, sameText: string | undefined) => ({
  warning: channelWarning(validation, sameText),
  warnings: channelWarnings(validation, sameText),
});

/**
 * Writes the channels of an edited post.
 *
 * @param edit.content The content after the edit.
 * @returns the growth of the channels' own texts, options and files in bytes.
 */
export async function writeChannels(
  em: Em,
  { id: postId, workspaceId }: Post,
  { kept, removed, order }: EditedChannels,
  edit: {
    readonly status: 'draft' | 'scheduled';
    readonly content: PostContent;
    readonly dueAt: Date | null;
    /** From `sameTextWarnings`. */
    readonly sameTexts: ReadonlyMap<string, string>;
    readonly validations: readonly ChannelValidation[];
  },
): Promise<number> {
  const before = keptBytes([...kept.values(), ...removed]);
  const added: Kept[] = [];
  const ownOf = (channelId: string): Own => ({
    body: edit.content.overrides[channelId] ?? null,
    options: edit.content.options[channelId] ?? null,
    media: edit.content.channelFiles[channelId] ?? null,
  });
  for (const row of removed) {
    // Only ready or refused parts are left: see assertNothingLive.
    await removeParts(em, { workspaceId, postChannelId: row.id });
    em.remove(row);
  }

  for (const row of kept.values()) {
    row.position = order.indexOf(row.channelId);
    if (row.status === 'publishing' || row.status === 'retrying') {
      Object.assign(row, ownOf(row.channelId)); // Used when the current attempt fails.
    }

    if (row.status === 'retrying' && edit.status === 'scheduled') {
      // It waited for a retry. Now the attempt starts when the post is due, and reconciles open parts first.
      Object.assign(row, waitingRow(edit.status));
    }
  }

  for (const validation of edit.validations) {
    const channelId = validation.channel.id;
    const row = kept.get(channelId);
    const text = { textHash: validation.textHash, textDueAt: edit.dueAt };
    const own = { ...ownOf(channelId), defaults: validation.channel.options, ...text };
    const warned = warnedOf(validation, edit.sameTexts.get(channelId));
    const [status, position] = [edit.status, order.indexOf(channelId)];
    if (!row) {
      const key = { workspaceId, postId, channelId, position };
      added.push(own);
      em.create(PostChannel, { ...unsent, ...key, ...own, status, ...warned });
    } else if (row.status === 'failed' && status === 'draft') {
      // The failure of a cancelled run stays visible until the post is scheduled again.
      Object.assign(row, { ...own, ...warned });
    } else {
      Object.assign(row, { ...own, ...warned, ...waitingRow(status), tries: 0 });
    }
  }
  return keptBytes([...kept.values(), ...added]) - before;
}
