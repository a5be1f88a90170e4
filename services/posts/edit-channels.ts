import { PostChannel } from '../../db/entities/post-channels.ts';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import type { PostOnChannel, WholePost } from '../../db/repositories/posts.ts';
import { waiting } from '../../domain/channel-changes.ts';
import { AppError } from '../../domain/errors.ts';
import { mayBeLive } from '../../domain/live-parts.ts';
import { isWithheld } from '../../domain/post-view.ts';
import { isUnderWay, type ChannelStatus } from '../../domain/statuses.ts';
import { assertChosen, chooseChannels, type ChosenChannel } from './choose-channels.ts';
import type { PostContent } from './content.ts';
import type { PostInput } from './post-request.ts';
import { warningsOfChannel, type ChannelValidation } from './validate-content.ts';

/**
 * Computes the channels of a post after an edit. A channel whose post is or may be live stays, whatever `channel_ids`
 * says, and is not sent to again. A disconnected channel stays like any other.
 *
 * @throws AppError `invalid_channel_ids`, or `post_not_editable` while parts of it are being removed.
 */
export async function editChannels(em: Em, { post, channels }: WholePost, input: PostInput) {
  assertNotBeingRemoved(channels);
  const had = channels.map(({ account }) => account.id);
  const wanted = await chooseChannels(em, post.workspaceId, input.channel_ids ?? had, had);
  const ids = new Set(wanted.map(({ id }) => id));
  const kept = channels.filter((one) => ids.has(one.account.id) || !canBeSent(one));
  const removed = channels.filter((one) => !kept.includes(one));
  assertNothingLive(removed);
  const order = [...new Set([...ids, ...kept.map(({ account }) => account.id)])];
  assertChosen(order, input);
  const byChannel = new Map(kept.map((channel) => [channel.account.id, channel]));
  const ownOf = <Name extends keyof Own>(name: Name) =>
    Object.fromEntries(
      kept.flatMap(({ row }) => {
        const own = row[name] ?? null;
        return own === null ? [] : [[row.channelId, own] as const];
      }),
    );
  const asStored = (matches: (row: PostChannel) => boolean) =>
    kept
      .filter(({ row }) => matches(row))
      .map(({ row, account }) => withDefaults(account, row.defaults));
  const { alt_texts: altTexts, channel_bodies: bodies, channel_options: options } = input;
  const contents = [input.body, input.thread, input.media, altTexts, bodies, options];
  const sendsContent = contents.some((value) => value !== undefined);
  return {
    closed: asStored(({ status }) => !sendable.has(status)),
    /** Channels on which an attempt began before the post was cancelled, and will finish. */
    sending: asStored(({ status }) => isUnderWay(status)),
    /** Published channels, which keep their texts, alt texts and options. */
    unchanged: asStored(
      ({ channelId: id, status, unpublish }) =>
        (sendsContent || input.channel_media?.[id] !== undefined) &&
        status === 'published' &&
        !isWithheld(unpublish),
    ),
    /** Channels to send to, with their defaults; the stored ones when a part is live, or only the time changes. */
    open: wanted
      .filter(({ id }) => canBeSent(byChannel.get(id)))
      .map((channel) => {
        const known = byChannel.get(channel.id);
        const keeps = known && (isMove(Object.keys(input)) || known.parts.some(mayBeLive));
        return keeps ? withDefaults(channel, known.row.defaults) : channel;
      }),
    kept: byChannel,
    removed,
    order,
    videoBefore: post.video,
    /** The channels' own texts, options and files before the edit, by channel id. */
    overrides: ownOf('body'),
    options: ownOf('options'),
    channelFiles: ownOf('media'),
  };
}

const times = new Set(['scheduled_at', 'schedule_in_minutes', 'timezone']);
const isMove = (names: string[]) => names.length > 0 && names.every((name) => times.has(name));

export type EditedChannels = Awaited<ReturnType<typeof editChannels>>;

const withDefaults = (channel: ChosenChannel, options: ChosenChannel['options'] = null) => ({
  ...channel,
  options,
});

/** A channel whose live parts are being removed must not be scheduled again. */
function assertNotBeingRemoved(channels: readonly PostOnChannel[]): void {
  if (channels.some(({ row }) => row.unpublish?.status === 'pending')) {
    const next = 'Change it when no channel shows `unpublish.status` `pending`.';
    throw new AppError('post_not_editable', `The post is being removed from a network. ${next}`);
  }
}

/** Neither published, being sent nor in doubt. */
const sendable: ReadonlySet<ChannelStatus> = new Set(['draft', 'scheduled', 'failed']);
const canBeSent = (channel: PostOnChannel | undefined): boolean =>
  channel === undefined || sendable.has(channel.row.status);

/**
 * A channel with a live part of a thread cannot be removed: its ledger rows would be lost, and adding the channel
 * again would send that part twice.
 */
function assertNothingLive(removed: readonly PostOnChannel[]): void {
  const channelIds = removed
    .filter(({ parts }) => parts.some(mayBeLive))
    .map(({ account }) => account.id);
  if (channelIds.length > 0) {
    const message = `A part of the thread is live on ${channelIds.join(', ')}, so it stays among the post's channels.`;
    throw new AppError('invalid_channel_ids', message, {
      details: channelIds.map((id) => ({ path: '/channel_ids', message, channel_id: id })),
    });
  }
}

/** The texts, options and files that a channel has instead of the post's. */
type Own = Pick<PostChannel, 'body' | 'options' | 'media'>;
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

/** Its owner sends it again, so an earlier removal is over. */
const again = (status: 'draft' | 'scheduled') => ({ ...waiting(status), unpublish: null });

export function writeChannels(
  em: Em,
  { id: postId, workspaceId }: Post,
  { kept, removed, order }: EditedChannels,
  edit: {
    readonly status: 'draft' | 'scheduled';
    readonly content: PostContent;
    readonly dueAt: Date | null;
    readonly sameTexts: ReadonlyMap<string, string>;
    readonly validations: readonly ChannelValidation[];
  },
): void {
  const ownOf = (channelId: string): Own => ({
    body: edit.content.overrides[channelId] ?? null,
    options: edit.content.options[channelId] ?? null,
    media: edit.content.channelFiles[channelId] ?? null,
  });
  for (const { row, parts } of removed) {
    em.remove([...parts, row]); // Only ready or refused parts are left: see assertNothingLive.
  }

  for (const { row } of kept.values()) {
    row.position = order.indexOf(row.channelId);
    if (isUnderWay(row.status) || row.status === 'unconfirmed') {
      Object.assign(row, ownOf(row.channelId)); // Used if the attempt fails, or the post is missing.
    }

    if (row.status === 'retrying' && edit.status === 'scheduled') {
      // It waited for a retry. Now the attempt starts when the post is due, and reconciles open parts first.
      Object.assign(row, again(edit.status));
    }
  }

  for (const validation of edit.validations) {
    const channelId = validation.channel.id;
    const row = kept.get(channelId)?.row;
    const text = { textHash: validation.textHash, textDueAt: edit.dueAt };
    const own = { ...ownOf(channelId), defaults: validation.channel.options, ...text };
    const warned = warningsOfChannel(validation, edit.sameTexts.get(channelId));
    const [status, position] = [edit.status, order.indexOf(channelId)];
    if (!row) {
      const key = { workspaceId, postId, channelId, position };
      em.create(PostChannel, { ...unsent, ...key, ...own, status, ...warned });
    } else if (row.status === 'failed' && status === 'draft') {
      // The failure of a cancelled run stays visible until the post is scheduled again.
      Object.assign(row, { ...own, ...warned });
    } else {
      Object.assign(row, { ...own, ...warned, ...again(status), tries: 0 });
    }
  }
}
