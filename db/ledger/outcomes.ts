import { sql, type RawBuilder } from 'kysely';
import { postAddress } from '../../domain/texts.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import { type LedgerEntry, countingRows, lastRun } from './entries.ts';
import { type LedgerOf, isOpen, mayBeLive, mayBeLiveInSql, openInSql } from './parts.ts';

/**
 * SQL: marks these parts as sent. For an unknown list, PostgreSQL expects ten rows, and for an unknown limit a tenth of
 * them: one, as usual. If it expected ten, its generic plan would look too costly, and it would plan each call anew.
 */
export const markSent = (
  workspaceId: string,
  live: readonly LedgerEntry[],
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'sent', remote_id = live.remote_id, url = live.url, warning = live.warning,
    updated_at = ${now}
  from (
    select * from unnest(${live.map(({ id }) => id)}::uuid[], ${live.map(({ sent }) => sent?.remoteId)}::text[],
      ${live.map(({ sent }) => sent && postAddress(sent.url))}::text[],
      ${live.map(({ sent }) => sent?.warning ?? null)}::text[]) as sent (id, remote_id, url, warning)
    limit ${live.length}) live
  where pp.id = live.id and pp.workspace_id = ${workspaceId}`;

/**
 * Records that a send certainly failed: `ready` may be sent later, `refused` not in this run. Only for this send:
 * another attempt may have sent the part again while this one hung.
 *
 * @param step Entries as they were when sent or reconciled.
 * @returns false if another attempt has changed one since.
 */
export async function markNotAccepted(
  em: Em,
  workspaceId: string,
  step: readonly LedgerEntry[],
  state: 'ready' | 'refused',
  now: Date,
): Promise<boolean> {
  const marked = await query(
    em,
    sql`update post_parts pp set state = ${state}, sending_at = null, updated_at = ${now},
        remote_data = sent.remote_data::jsonb
      from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ sendingAt }) => sendingAt)}::timestamptz[],
        ${step.map(({ data }) => JSON.stringify(data))}::text[]) as sent (id, sending_at, remote_data)
      where pp.id = sent.id and pp.workspace_id = ${workspaceId} and pp.state <> 'sent'
        and pp.sending_at is not distinct from sent.sending_at
      returning pp.id`,
  );
  return marked.length === step.length;
}

/** SQL: records that the network rejected a part after accepting it: the part and its replies are not live. */
export const markRejected = (
  workspaceId: string,
  postChannelId: string,
  { part }: Pick<LedgerEntry, 'part'>,
  now: Date,
): RawBuilder<unknown> => sql`update post_parts pp
  set state = 'refused', remote_id = null, url = null, sending_at = null, sealed_uploads = null, updated_at = ${now}
  where pp.post_channel_id = ${postChannelId} and pp.workspace_id = ${workspaceId} and pp.state = 'sent'
    and pp.part >= ${part}`;

/**
 * Records that the network does not show posts, so that only sending the same parts again can tell. They stay open
 * until then.
 *
 * @param step Entries with the data for the next send.
 * @returns false if another attempt has changed one since.
 */
export async function markDoubted(
  em: Em,
  workspaceId: string,
  step: readonly LedgerEntry[],
  now: Date,
): Promise<boolean> {
  const marked = await query(
    em,
    sql`update post_parts pp set state = 'doubted', updated_at = ${now}, remote_data = doubted.remote_data::jsonb
      from unnest(${step.map(({ id }) => id)}::uuid[], ${step.map(({ sendingAt }) => sendingAt)}::timestamptz[],
        ${step.map(({ data }) => JSON.stringify(data))}::text[]) as doubted (id, sending_at, remote_data)
      where pp.id = doubted.id and pp.workspace_id = ${workspaceId} and pp.state in ('sending', 'doubted')
        and pp.sending_at is not distinct from doubted.sending_at
      returning pp.id`,
  );
  return marked.length === step.length;
}

/** State of a channel's thread in the ledger. Parts count from 0. */
export type LedgerView = {
  /** Open parts, in order. */
  readonly open: readonly LedgerPart[];
  /** Live parts, in order. */
  readonly sent: readonly LedgerPart[];
  /** Unsent parts. */
  readonly missing: readonly LedgerPart[];
  readonly all: readonly LedgerPart[];
};

type LedgerPart = {
  readonly part: number;
  readonly url: string | null;
  /** Start of the last send and its age in milliseconds, both by the database's clock. */
  readonly sendingAt: Date | null;
  readonly sendingForMs: number | null;
};

/** Reads and locks the ledger as an attempt on the channel would see it. */
export async function lockLedgerEntries(em: Em, of: LedgerOf): Promise<LedgerView> {
  await query(
    em,
    sql`select 1 from post_parts where post_channel_id = ${of.postChannelId} and workspace_id = ${of.workspaceId}
        order by part, run for update`,
  );
  const rows = await query(em, countingRows(of, lastRun(of)));
  const partsOf = (some: typeof rows): LedgerPart[] =>
    some.map(({ part, url, sending_at: at, sending_for_ms: sendingForMs }) => ({
      part,
      url,
      sendingAt: at === null ? null : new Date(at),
      sendingForMs,
    }));
  return {
    open: partsOf(rows.filter(isOpen)),
    sent: partsOf(rows.filter((row) => mayBeLive(row) && !isOpen(row))),
    missing: partsOf(rows.filter((row) => !mayBeLive(row))),
    all: partsOf(rows),
  };
}

/**
 * Marks open parts as sent. Where their id on the network is unknown, `sendThread` finds them first if the thread
 * continues.
 *
 * @param first The first open part, with a null id if unknown.
 */
export async function closeAsSent(
  em: Em,
  { workspaceId, postChannelId }: LedgerOf,
  { url, remoteId }: FoundPost,
  now: Date,
): Promise<void> {
  const isFirst = sql<boolean>`pp.part = (select min(opened.part) from post_parts opened
    where opened.post_channel_id = pp.post_channel_id and opened.workspace_id = pp.workspace_id
      and ${openInSql('opened')})`;
  await query(
    em,
    sql`update post_parts pp set state = 'sent', updated_at = ${now},
          url = case when ${isFirst} then ${url}::text else pp.url end,
          remote_id = case when ${isFirst} then ${remoteId}::text else pp.remote_id end
        where pp.post_channel_id = ${postChannelId} and pp.workspace_id = ${workspaceId} and ${openInSql('pp')}`,
  );
}

/** Marks open parts as refused. A later run may send them. */
export async function closeAsRefused(
  em: Em,
  { workspaceId, postChannelId }: LedgerOf,
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update post_parts pp set state = 'refused', sending_at = null, updated_at = ${now}
        where pp.post_channel_id = ${postChannelId} and pp.workspace_id = ${workspaceId} and ${openInSql('pp')}`,
  );
}

/** URLs of the parts that a settlement closed as sent: the found one's, and null for those after it in its request. */
export async function settledUrls(
  em: Em,
  { workspaceId, postChannelId }: LedgerOf,
  settledAt: Date,
): Promise<(string | null)[]> {
  const rows = await query(
    em,
    sql<{ url: string | null }>`
      select url from post_parts
      where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId} and state = 'sent'
        and updated_at = ${settledAt}`,
  );
  return rows.map(({ url }) => url);
}

/**
 * Reopens the parts that a settlement closed, unless they or the channel were sent again since.
 *
 * @returns false if the ledger has parts but none was reopened.
 */
export async function reopenSettled(
  em: Em,
  { workspaceId, postChannelId }: LedgerOf,
  settledAt: Date,
): Promise<boolean> {
  const ledger = sql`post_parts where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId}`;
  const [result] = await query(
    em,
    sql<{ is_done: boolean }>`
      with closed as (
        select id, run from ${ledger} and updated_at = ${settledAt} and state in ('sent', 'refused')),
      reopened as (
        update post_parts pp set state = 'sending', url = null, remote_id = null,
          sending_at = coalesce(pp.sending_at, pc.tried_at)
        from closed, post_channels pc
        where pp.id = closed.id and pc.id = pp.post_channel_id and pc.workspace_id = pp.workspace_id
          and not exists (select from ${ledger} and run > (select max(run) from closed))
        returning pp.id)
      select exists (select from reopened) or not exists (select from ${ledger}) as is_done`,
  );
  return result?.is_done ?? false;
}

/** A post that a person found. `url` is as `postAddress` formats it. */
export type FoundPost = { readonly url: string; readonly remoteId: string | null };

/**
 * Returns another post of the channel that has this URL or id, as a whole or in one of its parts. An id also finds this
 * post itself. The ledger has results and settlements; after a restore, only the channel may have the URL.
 *
 * @returns null for none; with a null id if that post was deleted.
 */
export async function postAt(
  em: Em,
  { workspaceId, channelId, postChannelId }: LedgerOf & { readonly channelId: string },
  { url, remoteId }: FoundPost,
): Promise<{ readonly id: string | null } | null> {
  const [other] = await query(
    em,
    sql<{ id: string | null }>`
      select pc.post_id as id from post_parts pp
      left join post_channels pc on pc.id = pp.post_channel_id and pc.workspace_id = pp.workspace_id
      where pp.channel_id = ${channelId} and pp.workspace_id = ${workspaceId}
        and (pp.remote_id = ${remoteId}::text or pp.url = ${url}
          and pp.post_channel_id is distinct from ${postChannelId} and pp.state <> 'refused')
      union all
      select pc.post_id from post_channels pc
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.settled_at is not null
        and pc.url = ${url} and pc.id <> ${postChannelId}
      limit 1`,
  );
  return other ?? null;
}

/**
 * Detaches the ledger from a post that is being deleted. Parts that are or may be live stay, without their text, so that
 * no other post of the account claims them. The others are deleted.
 */
export async function detachParts(
  em: Em,
  workspaceId: string,
  postChannelIds: readonly string[],
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`delete from post_parts pp where pp.post_channel_id = any(${postChannelIds}::uuid[])
        and pp.workspace_id = ${workspaceId} and not ${mayBeLiveInSql('pp')}`,
  );
  await query(
    em,
    sql`update post_parts pp set post_channel_id = null, text = '', remote_data = '{}', sealed_uploads = null,
          updated_at = ${now}
        where pp.post_channel_id = any(${postChannelIds}::uuid[]) and pp.workspace_id = ${workspaceId}`,
  );
}
