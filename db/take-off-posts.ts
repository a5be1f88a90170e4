import { sql, type RawBuilder } from 'kysely';
import type { ChannelStatus, PostStatus } from '../domain/post-status.ts';
import { failed, isOpenChannel, retrying, unconfirmed } from './channel-status.ts';
import { hasOpenPart, hasOutPart, isLiveAsWhole } from './ledger/live-parts.ts';
import type { Em } from './orm.ts';
import { query, queryPlanned } from './query.ts';
import { voidShares } from './quota-shares.ts';
import { finalizeIfPublished, refinalizeCancelled } from './refinalize-post.ts';
import type { PostPresentation } from './post-view.ts';

type ChannelScope = { readonly workspaceId: string; readonly channelId: string };
type At = PostPresentation & { readonly now: Date };

/** What a disconnection means for the posts of a channel. */
export type TakenOff = {
  /** How many scheduled posts and drafts do not have the channel any more. */
  readonly removedFrom: number;
  /** The scheduled posts that have no channel left to be sent to. */
  readonly drafts: readonly string[];
  /** How many posts a request for may be under way at this moment. */
  readonly stillSending: number;
};

/** A post `p` that is on the channel as `pc` and may be sent there, now or later. */
const mayBeSent = sql<boolean>`p.status in ('draft', 'scheduled', 'publishing')
  and pc.status not in ('published', 'unconfirmed')`;

/**
 * Locks the posts that may be sent to a channel, and of each what it has of the channel. Posts are locked before their
 * channels everywhere.
 *
 * @param isPatient Whether it waits for who has one locked. Without, PostgreSQL's error `55P03` says so at once.
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
 * Takes a channel off its posts, whose locks the caller holds as well as that of the channel, so that none is added:
 *
 * - A scheduled post or a draft loses it. One that was to go nowhere else becomes a draft.
 * - Where part of a thread is live, or may be, the channel stays on its post, and has ended.
 * - Of a post that is being published it fails, unless the network may be asked just now, or has all of it: then the
 *   try that is under way says what becomes of it, or the next one, which asks the network for nothing.
 *
 * Each post changes its version, so that no try that has read it before begins.
 */
export async function takeOffPosts(em: Em, channel: ChannelScope, at: At): Promise<TakenOff> {
  const rows = await readRows(em, channel);
  const of = (fate: Fate): Row[] => rows.filter((row) => fateOf(row) === fate);
  const [removed, finishing, ended] = [of('removed'), of('finishing'), of('failed')];
  const doubtful = of('unconfirmed');
  const update = updater(em, channel.workspaceId);
  await removeRows(em, channel.workspaceId, removed);
  await update(retrying({ code: 'disconnected', error: beingWrittenDown }), finishing);
  await update(unconfirmed(neverKnown), doubtful);
  await update(failed({ code: 'disconnected', error: lost }), ended);
  await touchPosts(em, channel.workspaceId, { heard: [...finishing, ...ended], rows }, at.now);
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
  /** Whether the network may have part of it, and nobody knows. */
  readonly is_open: boolean;
  readonly is_whole: boolean;
  readonly is_out: boolean;
};

const readRows = (em: Em, { workspaceId, channelId }: ChannelScope): Promise<Row[]> =>
  queryPlanned(
    em,
    sql<Row>`
      select pc.id, pc.post_id, p.status as post_status, pc.status,
        ${hasOpenPart} as is_open, ${isLiveAsWhole} as is_whole, ${hasOutPart} as is_out
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
    // What is whole and waits for another time is found to be published then.
    return isBeingSent ? 'finishing' : is_open ? 'unconfirmed' : 'stays';
  }

  return 'failed';
}

const beingWrittenDown =
  'The account was disconnected while the network was asked to publish. What became of that is being written down.';
const neverKnown =
  'The network may or may not have this post: it was asked to publish, and the account was disconnected before what became of that was known. Look at the account, then settle this channel.';
/** With the addresses of the parts of a thread that are live. */
const lost = sql<string>`concat_ws(' ', 'The account was disconnected.',
  (select 'Of the thread is live: ' || string_agg(distinct pp.url, ' ') || '.' from post_parts pp
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

/** With their texts and options, which count in a quota, and what the ledger has of them, of which nothing is out. */
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
        delete from post_channels where id = any(${ids}) and workspace_id = ${workspaceId} returning body, options, defaults)
      update quota_shares set text_used = text_used - (
        select coalesce(sum(coalesce(octet_length(body), 0) + coalesce(octet_length(options::text), 0)
          + coalesce(octet_length(defaults::text), 0)), 0) from gone)
      where workspace_id = ${workspaceId} and share = 0`,
  );
}

/** @param heard Those of which the workflow must hear. */
async function touchPosts(
  em: Em,
  workspaceId: string,
  { heard, rows }: { readonly heard: readonly Row[]; readonly rows: readonly Row[] },
  now: Date,
): Promise<void> {
  const ids = rows.map((row) => row.post_id);
  const raised = heard.map((row) => row.post_id);
  await queryPlanned(
    em,
    sql`update posts set updated_at = ${now}, revision = revision + (id = any(${raised}))::int
      where id = any(${ids}) and workspace_id = ${workspaceId}`,
  );
}

/**
 * What becomes of posts that wait, as drafts or for a time, and that nothing is left of to be sent.
 *
 * @returns those that become drafts.
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
      where p.id = any(${ids}) and p.workspace_id = ${workspaceId} and p.status in ('draft', 'scheduled')
        and exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id)
        and not exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
          and pc.status not in ('published', 'failed', 'unconfirmed'))`,
  );
  // What a cancel let finish.
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
  if (drafts.length > 0) {
    await voidShares(em, workspaceId);
  }

  return drafts.map(({ id }) => id).toSorted();
}

/** Of a channel that posts may not be sent to any more: what opens the account is erased. */
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
  // After its channel, as who redeems one locks them: a link that was made before brings the account back no more.
  await query(
    em,
    sql`delete from connect_links where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
  );
}
