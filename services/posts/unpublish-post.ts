import { sql } from 'kysely';
import { recordAudit } from '../../db/audit.ts';
import { unpublishValues } from '../../db/channel-status.ts';
import type { Channel } from '../../db/entities/channels.ts';
import { isLiveChannel } from '../../db/ledger/parts.ts';
import type { Em } from '../../db/orm.ts';
import { dueAt } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { ChannelStatus, UnpublishStatus } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { PostChange, PostScope } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { nameOfChannel } from './choose-channels.ts';
import { lockPost } from './read-posts.ts';

type Row = Pick<Channel, 'platform' | 'handle'> & {
  /** The id of the row of `post_channels`. */
  readonly row_id: string;
  readonly id: string;
  readonly status: ChannelStatus;
  readonly removal: UnpublishStatus | null;
  readonly is_live: boolean;
};

/**
 * Requests the removal of a post from its networks. Channels that were removed before, or are being removed, stay as
 * they are, so that a call can be repeated.
 *
 * @param channelIds Limits it to these channels. Default: all of the post.
 * @returns the post to sync with Temporal; null if everything was removed before.
 * @throws AppError `not_found`, `invalid_channel_ids` or `nothing_to_unpublish`.
 */
export async function unpublishPost(
  deps: Pick<ServiceDeps, 'orm' | 'now'>,
  change: PostChange,
  channelIds?: readonly string[],
): Promise<PostToSync | null> {
  const { workspaceId, postId } = change;
  const scope = { workspaceId, postId };
  const now = deps.now();
  return deps.orm.em.fork().transactional(async (em) => {
    await lockPost(em, change);
    const rows = await lockRows(em, scope);
    const chosen = chooseRows(rows, channelIds);
    assertEnded(chosen, scope, rows.length > 1);
    const wanted = chosen.filter((row) => row.is_live && !isKnown(row));
    const isUnderWay = chosen.some(({ removal }) => removal === 'pending');
    if (wanted.length === 0 && !chosen.some(isKnown)) {
      throw nothingToUnpublish(whyNothing(rows, chosen, postId));
    }

    if (wanted.length === 0 && !isUnderWay) {
      return null;
    }

    if (wanted.length > 0) {
      await markPending(em, scope, wanted, now);
      await recordAudit(em, change, 'post.unpublished', postId);
    }

    return { ...(await putInOutbox(em, scope)), requestId: change.requestId };
  });
}

/** Locks the channels of a post, after the post. */
const lockRows = (em: Em, { workspaceId, postId }: PostScope): Promise<Row[]> =>
  query(
    em,
    sql<Row>`
      select pc.id as row_id, c.id, c.platform, c.handle, pc.status, pc.unpublish->>'status' as removal,
        ${isLiveChannel} as is_live
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.id for update of pc`,
  );

/** @throws AppError `invalid_channel_ids` */
function chooseRows(rows: readonly Row[], channelIds?: readonly string[]): readonly Row[] {
  const details = (channelIds ?? []).flatMap((id, index) =>
    rows.some((row) => row.id === id)
      ? []
      : [{ path: `/channel_ids/${index}`, message: `This post has no channel "${id}".` }],
  );
  const [first] = details;
  if (first) {
    throw new AppError('invalid_channel_ids', first.message, { details });
  }

  return channelIds ? rows.filter(({ id }) => channelIds.includes(id)) : rows;
}

/** Whether the post is being removed from the channel, or is no longer there. */
const isKnown = ({ removal }: Row): boolean =>
  ['pending', 'removed', 'not_found'].includes(removal ?? '');

const mayBeLive: ReadonlySet<ChannelStatus> = new Set(['publishing', 'retrying', 'unconfirmed']);

/** Says why nothing can be removed on the chosen channels, and what to do. */
function whyNothing(rows: readonly Row[], chosen: readonly Row[], postId: string): string {
  const names = (some: readonly Row[]): string => some.map(nameOfChannel).join(', ');
  const live = rows.filter((row) => row.is_live && !isKnown(row));
  const none = `The post is not live on ${names(chosen)}.`;
  if (live.length > 0) {
    return `${none} It is live on ${names(live)}: name it in channel_ids, or leave channel_ids out.`;
  }

  if (rows.some(isKnown)) {
    return `${none} Its other channels are removed already, or being removed, so there is nothing to do.`;
  }

  return rows.some(({ status }) => mayBeLive.has(status))
    ? none
    : `The post was published on no channel, so there is nothing to remove. DELETE /posts/${postId} deletes it here.`;
}

/** @throws AppError `nothing_to_unpublish` if a channel may still get the post, or may have it. */
function assertEnded(rows: readonly Row[], { postId }: PostScope, hasOthers: boolean): void {
  const others = hasOthers
    ? ' Name the other channels in channel_ids to remove the post there now.'
    : '';
  const named = (...statuses: readonly ChannelStatus[]): string =>
    rows
      .filter(({ status }) => statuses.includes(status))
      .map(nameOfChannel)
      .join(', ');
  const open = named('scheduled', 'publishing', 'retrying');
  if (open !== '') {
    throw nothingToUnpublish(
      `Publishing has not ended on ${open}. Wait for its end, or cancel the post first (POST /posts/${postId}/cancel).${others}`,
    );
  }

  const unconfirmed = named('unconfirmed');
  if (unconfirmed !== '') {
    throw nothingToUnpublish(
      `Unconfirmed: ${unconfirmed}. The network may have the post. Look at the account, and settle the channel first (POST /posts/${postId}/settle).${others}`,
    );
  }
}

async function markPending(
  em: Em,
  { workspaceId, postId }: PostScope,
  rows: readonly Row[],
  now: Date,
): Promise<void> {
  const unpublish = { requested_at: now.toISOString(), error: null, error_code: null } as const;
  await query(
    em,
    sql`update post_channels pc set ${unpublishValues({ status: 'pending', ...unpublish })}
      where pc.id = any(${rows.map(({ row_id: id }) => id)}::uuid[]) and pc.workspace_id = ${workspaceId}`,
  );
  await query(
    em,
    sql`update posts set updated_at = ${now} where id = ${postId} and workspace_id = ${workspaceId}`,
  );
}

/** The revision stays, because a higher one would stop attempts on other channels. */
async function putInOutbox(em: Em, { workspaceId, postId }: PostScope): Promise<PostToSync> {
  const [post] = await query(
    em,
    sql<{ status: string; revision: number; due_at: Date | null }>`
      update posts set is_being_removed = true, synced_revision = revision - 1
      where id = ${postId} and workspace_id = ${workspaceId} returning status, revision, ${dueAt()} as due_at`,
  );
  if (!post) {
    throw new Error('The post does not exist.');
  }

  const { status, revision, due_at: due } = post;
  const isBeingRemoved = true;
  return {
    workspaceId,
    postId,
    status,
    revision,
    dueAt: due?.toISOString() ?? null,
    isBeingRemoved,
  };
}

const nothingToUnpublish = (message: string): AppError =>
  new AppError('nothing_to_unpublish', message);
