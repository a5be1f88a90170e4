import { LockMode } from '@mikro-orm/core';
import { waitingRow } from '../../db/channel-status.ts';
import { finalizeIfPublished } from '../../db/refinalize-post.ts';
import type { PostPresentation } from '../../db/post-view.ts';
import { PostChannel } from '../../db/entities/post-channel.ts';
import type { Post } from '../../db/entities/post.ts';
import { outParts, removeParts, type OutPart } from '../../db/ledger/live-parts.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';
import {
  assertChosen,
  chooseChannels,
  heldChannels,
  type ChosenChannel,
} from './choose-channels.ts';
import { bytesOfOptions } from './channel-options.ts';
import { bytesOf, type PostContent } from './post-content.ts';
import type { EditPostBody } from './schemas.ts';
import { channelWarning, type ChannelValidation } from './validate-content.ts';

export type EditedChannels = {
  /**
   * Those that the post is yet to be sent to, with the defaults that it is judged by: the channel's as they are now, or
   * those that it was sent with where part of it is out.
   */
  readonly open: readonly ChosenChannel[];
  /** Those that a send began on before the post was cancelled, and that finish it. */
  readonly sending: readonly ChosenChannel[];
  /** Rows that stay, by channel id. */
  readonly kept: ReadonlyMap<string, PostChannel>;
  readonly removed: readonly PostChannel[];
  /** All channel ids of the edited post, in their order. */
  readonly order: readonly string[];
  /** The channels' own texts and options before the edit, by channel id. */
  readonly overrides: PostContent['overrides'];
  readonly options: PostContent['options'];
};

/**
 * Which channels a post has after an edit. A channel that has the post, or may have it, stays whatever `channel_ids`
 * says, and is never sent to again. One that was disconnected is taken off, if it does not have it.
 *
 * @throws AppError `invalid_channel_ids`
 */
export async function editChannels(
  em: Em,
  post: Post,
  request: EditPostBody,
): Promise<EditedChannels> {
  const { id: postId, workspaceId } = post;
  const rows = await em.find(
    PostChannel,
    { postId, workspaceId },
    { orderBy: { position: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const asked = request.channel_ids ?? rows.map(({ channelId }) => channelId);
  const gone = await disconnectedRows(em, workspaceId, rows, asked);
  const parts = await outParts(
    em,
    workspaceId,
    rows.map(({ id }) => id),
  );
  const out = new Set(parts.map((part) => part.channel_id));
  const given = asked.filter((id) => !gone.has(id));
  const wanted = await chooseChannels(em, workspaceId, given);
  const ids = new Set(wanted.map(({ id }) => id));
  const stays = (row: PostChannel): boolean =>
    ids.has(row.channelId) ||
    !canBeSent(row) ||
    (out.has(row.channelId) && gone.has(row.channelId));
  const kept = rows.filter(stays);
  const removed = rows.filter((row) => !kept.includes(row));
  assertNothingOut(removed, parts);
  const order = [...new Set([...ids, ...kept.map(({ channelId }) => channelId)])];
  assertChosen(order, request);
  const byChannel = new Map(kept.map((row) => [row.channelId, row]));
  const sending = rows.filter(({ status }) => status === 'publishing' || status === 'retrying');
  const withKept = (channel: ChosenChannel): ChosenChannel => ({
    ...channel,
    options: byChannel.get(channel.id)?.defaults ?? null,
  });
  const sendingTo = await chooseChannels(
    em,
    workspaceId,
    sending.map(({ channelId }) => channelId).filter((id) => !gone.has(id)),
  );
  return {
    sending: sendingTo.map(withKept),
    open: wanted
      .filter(({ id }) => canBeSent(byChannel.get(id)))
      .map((channel) => (out.has(channel.id) ? withKept(channel) : channel)),
    kept: byChannel,
    removed,
    order,
    overrides: Object.fromEntries(
      kept.flatMap((row) => (row.body === null ? [] : [[row.channelId, row.body]])),
    ),
    options: Object.fromEntries(
      kept.flatMap((row) => (row.options ? [[row.channelId, row.options]] : [])),
    ),
  };
}

/**
 * Of the channels that a post has, those that were disconnected: they stay where something is live, or may be, and are
 * never sent to. The others, and those that are asked for, are held.
 */
async function disconnectedRows(
  em: Em,
  workspaceId: string,
  rows: readonly PostChannel[],
  asked: readonly string[],
): Promise<ReadonlySet<string>> {
  const ids = rows.map(({ channelId }) => channelId);
  const held = await query(em, heldChannels(workspaceId, [...ids, ...asked.filter(isId)]));
  const connected = new Set(held.map(({ id }) => id));
  return new Set(ids.filter((id) => !connected.has(id)));
}

/** Not published, not being sent and not in doubt. A channel that is new to the post can be sent. */
const canBeSent = (row: PostChannel | undefined): boolean =>
  row === undefined || ['draft', 'scheduled', 'failed'].includes(row.status);

/**
 * A channel on which part of a thread is live cannot be taken off the post: no row would say any more that it is
 * there, and adding the channel again would send that part a second time.
 */
function assertNothingOut(removed: readonly PostChannel[], parts: readonly OutPart[]): void {
  const out = new Set(parts.map((part) => part.channel_id));
  const channelIds = removed.map(({ channelId }) => channelId).filter((id) => out.has(id));
  if (channelIds.length > 0) {
    const message = `A part of the thread is live on ${channelIds.join(', ')}, so it stays among the post's channels.`;
    throw new AppError('invalid_channel_ids', message, {
      details: [{ path: '/channel_ids', message }],
    });
  }
}

/** A cancelled post that loses the channels that it was not sent to may have nothing left to publish. */
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

/** What a channel has of its own, instead of the post's. */
type Own = Pick<PostChannel, 'body' | 'options'>;
type Kept = Own & Pick<PostChannel, 'defaults'>;

const keptBytes = (channels: readonly Kept[]): number =>
  channels.reduce(
    (sum, row) => sum + bytesOfOptions(row.options) + bytesOfOptions(row.defaults),
    0,
  ) + bytesOf(channels.map(({ body }) => body));

/** Of a channel that nothing was sent to. */
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
};

/**
 * Writes an edited post's channels.
 *
 * @param edit.overrides The channels' own texts after the edit, by channel id; `edit.options` likewise.
 * @returns how many more bytes these take than before.
 */
export async function writeChannels(
  em: Em,
  { id: postId, workspaceId }: Post,
  { kept, removed, order }: EditedChannels,
  edit: {
    readonly status: 'draft' | 'scheduled';
    readonly overrides: PostContent['overrides'];
    readonly options: PostContent['options'];
    readonly validations: readonly ChannelValidation[];
  },
): Promise<number> {
  const before = keptBytes([...kept.values(), ...removed]);
  const added: Kept[] = [];
  const ownOf = (channelId: string): Own => ({
    body: edit.overrides[channelId] ?? null,
    options: edit.options[channelId] ?? null,
  });
  for (const row of removed) {
    // Only intents that nothing came of: see assertNothingOut.
    await removeParts(em, { workspaceId, postChannelId: row.id });
    em.remove(row);
  }

  for (const row of kept.values()) {
    row.position = order.indexOf(row.channelId);
    if (row.status === 'publishing' || row.status === 'retrying') {
      Object.assign(row, ownOf(row.channelId)); // For when nothing comes of what is being sent.
    }

    if (row.status === 'retrying' && edit.status === 'scheduled') {
      // It waited to be finished. Now that happens when the post is due, and begins with a look at what is in doubt.
      Object.assign(row, waitingRow(edit.status));
    }
  }

  for (const validation of edit.validations) {
    const channelId = validation.channel.id;
    const row = kept.get(channelId);
    const own = { ...ownOf(channelId), defaults: validation.channel.options };
    const warning = channelWarning(validation);
    const { status } = edit;
    const position = order.indexOf(channelId);
    if (!row) {
      const key = { workspaceId, postId, channelId, position };
      added.push(own);
      em.create(PostChannel, { ...unsent, ...key, ...own, status, warning });
    } else if (row.status === 'failed' && status === 'draft') {
      // A failure of a publishing that was cancelled stays visible until the post is scheduled anew.
      Object.assign(row, { ...own, warning });
    } else {
      Object.assign(row, { ...own, warning, ...waitingRow(status), tries: 0 });
    }
  }
  return keptBytes([...kept.values(), ...added]) - before;
}
