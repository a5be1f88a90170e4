import { sql, type RawBuilder } from 'kysely';
import type { ChannelStatus, PostStatus } from '../domain/statuses.ts';
import {
  failedValues,
  isOpenChannel,
  retryingValues,
  unconfirmedValues,
  isEndedChannel,
} from './channel-status.ts';
import { hasOpenPart, hasPossiblyLivePart, isWholeThreadLive } from './ledger/parts.ts';
import type { PostPresentation } from './load-post-view.ts';
import type { Em } from './orm.ts';
import { isWaitingPost } from './post-status.ts';
import { query, queryPlanned } from './query.ts';
import { finalizeIfPublished, refinalizeCancelled } from './refinalize-post.ts';

type ChannelScope = { readonly workspaceId: string; readonly channelId: string };
type At = PostPresentation & { readonly now: Date };

/** Effects of a disconnection on the channel's posts. */
export type RemovedFromPosts = {
  /** Number of scheduled posts and drafts that lost the channel. */
  readonly removedFrom: number;
  /** Scheduled posts without another channel, which became drafts. */
  readonly drafts: readonly string[];
  /** Number of posts with a request that may be in flight. */
  readonly stillSending: number;
};

/** SQL: the post `p` may be sent to the channel `pc`, now or later. */
const mayBeSent = sql<boolean>`p.status in ('draft', 'scheduled', 'publishing')
  and pc.status not in ('published', 'unconfirmed')`;

/**
 * Locks the posts that may be sent to a channel, and their rows of that channel. All code locks posts before their
 * channels.
 *
 * @param isPatient Whether to wait for locks. Otherwise PostgreSQL fails at once with `55P03`.
 */
export async function lockPostsOf(
  em: Em,
  { workspaceId, channelId }: ChannelScope,
  isPatient: boolean,
): Promise<void> {
  const patience = sql.raw(isPatient ? '' : 'nowait');
  await queryPlanned(
    em,
    sql`select p.id from posts p
      where p.workspace_id = ${workspaceId} and p.id = any(array(
          select pc.post_id from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
          where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and ${mayBeSent}))
      order by p.id for update ${patience}`,
  );
  await queryPlanned(
    em,
    sql`select pc.id from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and ${mayBeSent}
      order by pc.id for update of pc ${patience}`,
  );
}

/**
 * Removes a channel from its posts. The caller holds the locks of the posts and of the channel, so that none is added:
 *
 * - A scheduled post or a draft loses the channel. Without another channel it becomes a draft.
 * - If a part of a thread is or may be live, the channel stays on its post and ends.
 * - On a post being published the channel fails, unless a request may be in flight or all parts are live. Then the
 *   current or next attempt records the result, without a request.
 *
 * Updates each post's row version, so that no attempt that read it before starts.
 */
export async function removeChannelFromPosts(
  em: Em,
  channel: ChannelScope,
  at: At,
): Promise<RemovedFromPosts> {
  const rows = await readRows(em, channel);
  const of = (fate: Fate): Row[] => rows.filter((row) => fateOf(row) === fate);
  const [removed, finishing, ended] = [of('removed'), of('finishing'), of('failed')];
  const doubtful = of('unconfirmed');
  const update = updater(em, channel.workspaceId);
  await removeRows(em, channel.workspaceId, removed);
  await update(retryingValues({ code: 'disconnected', error: resultPendingText }), finishing);
  await update(unconfirmedValues(resultUnknownText), doubtful);
  await update(failedValues({ code: 'disconnected', error: disconnectedError }), ended);
  await touchPosts(em, channel.workspaceId, { signalled: [...finishing, ...ended], rows }, at.now);
  const drafts = await endWaiting(em, channel, [...removed, ...ended, ...doubtful], at);
  return {
    removedFrom: removed.length,
    drafts,
    stillSending: finishing.filter((row) => row.status === 'publishing' && row.is_open).length,
  };
}

type Row = {
  readonly id: string;
  readonly post_id: string;
  readonly post_status: PostStatus;
  readonly status: ChannelStatus;
  /** A part is open: the network may have it. */
  readonly is_open: boolean;
  readonly is_whole: boolean;
  readonly is_out: boolean;
};

const readRows = (em: Em, { workspaceId, channelId }: ChannelScope): Promise<Row[]> =>
  queryPlanned(
    em,
    sql<Row>`
      select pc.id, pc.post_id, p.status as post_status, pc.status,
        ${hasOpenPart} as is_open, ${isWholeThreadLive} as is_whole, ${hasPossiblyLivePart} as is_out
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and ${mayBeSent}
      order by pc.post_id`,
  );

type Fate = 'removed' | 'finishing' | 'unconfirmed' | 'failed' | 'stays';

function fateOf({ post_status: post, status, is_open, is_whole, is_out }: Row): Fate {
  if (post !== 'publishing' && !is_out) {
    return 'removed';
  }

  if (status === 'failed') {
    return 'stays';
  }

  const isBeingSent =
    post === 'publishing' || status === 'publishing' || (post === 'draft' && status === 'retrying');
  if (is_open || is_whole) {
    // A completely live thread that waits for another time is marked as published then.
    return isBeingSent ? 'finishing' : is_open ? 'unconfirmed' : 'stays';
  }

  return 'failed';
}

const resultPendingText =
  'The account was disconnected while the network was asked to publish. The result is being recorded.';
const resultUnknownText =
  'The network may or may not have this post: it was asked to publish, and the account was disconnected before the result was known. Check the account, then settle this channel.';
/** Includes the URLs of live parts of a thread. */
const disconnectedError = sql<string>`concat_ws(' ', 'The account was disconnected.',
  (select 'Live parts of the thread: ' || string_agg(distinct pp.url, ' ') || '.' from post_parts pp
   where pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id and pp.state = 'sent'),
  'Connect the account again, then retry the post.')`;

const updater =
  (em: Em, workspaceId: string) =>
  async (set: RawBuilder<unknown>, rows: readonly Row[]): Promise<void> => {
    if (rows.length > 0) {
      const ids = rows.map(({ id }) => id);
      await queryPlanned(
        em,
        sql`update post_channels pc set ${set} where pc.id = any(${ids}) and pc.workspace_id = ${workspaceId}`,
      );
    }
  };

/**
 * Removes the channels' rows with their ledger, of which no part is live, and subtracts their texts and options from
 * the quota.
 */
async function removeRows(em: Em, workspaceId: string, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) {
    return;
  }

  const ids = rows.map(({ id }) => id);
  await queryPlanned(
    em,
    sql`delete from post_parts where post_channel_id = any(${ids}) and workspace_id = ${workspaceId}`,
  );
  await queryPlanned(
    em,
    sql`with gone as (
        delete from post_channels where id = any(${ids}) and workspace_id = ${workspaceId} returning body, options, defaults, media)
      update workspaces set text_used = text_used - (
        select coalesce(sum(coalesce(octet_length(body), 0) + coalesce(octet_length(options::text), 0)
          + coalesce(octet_length(defaults::text), 0) + coalesce(octet_length(media::text), 0)), 0) from gone)
      where id = ${workspaceId}`,
  );
}

/** @param signalled Rows whose workflow has to be notified. */
async function touchPosts(
  em: Em,
  workspaceId: string,
  { signalled, rows }: { readonly signalled: readonly Row[]; readonly rows: readonly Row[] },
  now: Date,
): Promise<void> {
  const ids = rows.map((row) => row.post_id);
  const raised = signalled.map((row) => row.post_id);
  await queryPlanned(
    em,
    sql`update posts set updated_at = ${now}, revision = revision + (id = any(${raised}))::int
      where id = any(${ids}) and workspace_id = ${workspaceId}`,
  );
}

/**
 * Ends or makes drafts of waiting posts that have no channel left to send to.
 *
 * @returns the posts that become drafts.
 */
async function endWaiting(
  em: Em,
  { workspaceId, channelId }: ChannelScope,
  rows: readonly Row[],
  at: At,
): Promise<string[]> {
  const ids = rows.map((row) => row.post_id);
  if (ids.length === 0) {
    return [];
  }

  const over = await queryPlanned(
    em,
    sql<{ id: string }>`
      select p.id from posts p
      where p.id = any(${ids}) and p.workspace_id = ${workspaceId} and ${isWaitingPost('p')}
        and exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id)
        and not exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
          and not ${isEndedChannel})`,
  );
  // Posts that were finishing despite a cancel.
  const wasFinishing = new Set(
    rows
      .filter(({ status }) => status === 'publishing' || status === 'retrying')
      .map((row) => row.post_id),
  );
  for (const { id: postId } of over) {
    const end = wasFinishing.has(postId) ? refinalizeCancelled : finalizeIfPublished;
    await end(em, { workspaceId, postId }, at);
  }

  return makeDrafts(em, { workspaceId, channelId }, ids, at.now);
}

async function makeDrafts(
  em: Em,
  { workspaceId, channelId }: ChannelScope,
  ids: readonly string[],
  now: Date,
): Promise<string[]> {
  const drafts = await queryPlanned(
    em,
    sql<{ id: string }>`
      update posts p set status = 'draft', scheduled_at = null, retried_at = null, revision = revision + 1,
        updated_at = ${now},
        warning = (select 'Its channel ' || c.handle || ' on ' || c.platform || ' was disconnected, so the post is not scheduled any more.'
          from channels c where c.id = ${channelId} and c.workspace_id = ${workspaceId})
      where p.id = any(${ids}) and p.workspace_id = ${workspaceId} and p.status = 'scheduled'
        and not exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
          and ${isOpenChannel})
      returning p.id`,
  );
  return drafts.map(({ id }) => id).toSorted();
}

/** Erases a disconnected channel's access to its account. */
export async function eraseChannel(
  em: Em,
  { workspaceId, channelId }: ChannelScope,
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update channels set disconnected_at = ${now}, state = 'needs_reconnect', error = null, options = null,
        sealed_credentials = '', sealed_session = null, updated_at = ${now}
      where id = ${channelId} and workspace_id = ${workspaceId}`,
  );
  await query(
    em,
    sql`delete from channel_grants where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
  );
  // Lock order as when a link is redeemed: after the channel. An existing link can no longer reconnect the account.
  await query(
    em,
    sql`delete from connect_links where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
  );
}
