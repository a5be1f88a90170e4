import { sql, type RawBuilder } from 'kysely';
import type { PartState } from '../../domain/live-parts.ts';
import { postAddress } from '../../domain/texts.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { PartMedia, PreparedPart, SentPart } from '../../networks/network.ts';
import { isOpenChannel } from '../channel-status.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import { openInSql, mayBeLiveInSql, type LedgerOf } from './parts.ts';

/** One part of a thread in the ledger. Parts count from 0. */
export type LedgerEntry = PreparedPart & {
  readonly id: string;
  readonly run: number;
  readonly part: number;
  /** `new`: not stored yet. The intent to send the thread's first part stores it. */
  readonly state: PartState | 'new';
  readonly sent: SentPart | null;
  /** Start of the last send, by the database's clock. */
  readonly sendingAt: Date | null;
  /** State of unfinished uploads. */
  readonly sealedUploads: string | null;
  /** Age of the last send when the ledger was read, by the database's clock, as workers' clocks may differ. */
  readonly sendingForMs: number | null;
};

/** As PostgreSQL returns it. Times within JSON are strings. */
export type EntryRow = Omit<LedgerEntry, keyof PostedContent | 'sent' | 'sendingAt'> & {
  readonly remoteId: string | null;
  readonly url: string | null;
  readonly warning: string | null;
  readonly sendingAt: string | Date | null;
};

/**
 * SQL: the current rows of a channel's thread, in order: those of a run, and parts of earlier runs that are or may be
 * live. So an intent of any run stays open until its outcome is known.
 */
export const countingRows = (
  { workspaceId, postChannelId }: LedgerOf,
  run: RawBuilder<unknown> | number,
): RawBuilder<EntryRow> => sql<EntryRow>`
  select distinct on (part) id, run, part, key, text, state, remote_data as data, remote_id as "remoteId", url, warning,
    sealed_uploads as "sealedUploads", sending_at as "sendingAt",
    (extract(epoch from clock_timestamp() - sending_at) * 1000)::float8 as "sendingForMs"
  from post_parts pp
  where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId}
    and (run = ${run} or ${mayBeLiveInSql('pp')})
  order by part, state = 'sent' desc, ${openInSql('pp')} desc, run desc`;

export const lastRun = ({ workspaceId, postChannelId }: LedgerOf): RawBuilder<number> =>
  sql<number>`(select max(run) from post_parts
    where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId})`;

/** Content of a post's channel that the ledger does not store. */
export type PostedContent = {
  readonly media: readonly (readonly PartMedia[])[];
  readonly options: Options;
  readonly optionFiles: Readonly<Record<string, PartMedia>>;
};

export async function readEntries(
  em: Em,
  of: LedgerOf,
  run: RawBuilder<unknown> | number,
  content: PostedContent = { media: [], options: {}, optionFiles: {} },
): Promise<LedgerEntry[]> {
  return entriesOf(content, await query(em, countingRows(of, run)));
}

export const entriesOf = (
  { media, options, optionFiles }: PostedContent,
  rows: readonly EntryRow[],
): LedgerEntry[] =>
  rows.map(({ remoteId, url, warning, sendingAt, ...entry }) => ({
    ...entry,
    media: media[entry.part] ?? [],
    options,
    optionFiles,
    sent:
      remoteId !== null && url !== null
        ? { remoteId, url, ...(warning !== null && { warning }) }
        : null,
    sendingAt: sendingAt === null ? null : new Date(sendingAt),
  }));

/** Whether every part is live, with its id. The first intent stores all parts. */
export const isComplete = (entries: readonly LedgerEntry[]): boolean =>
  entries.length > 0 && entries.every(({ sent }) => sent !== null);

/** Live parts whose network id is known. */
export const sentPartsOf = (entries: readonly LedgerEntry[]): SentPart[] =>
  entries.flatMap(({ sent }) => (sent === null ? [] : [sent]));

export type OfAccount = LedgerOf & { readonly channelId: string };

/** Serializes claims of live posts per channel, by reconciles and by settlements. Taken before rows of the ledger. */
export async function lockClaims(em: Em, channelId: string): Promise<void> {
  await query(
    em,
    sql`select pg_advisory_xact_lock(hashtextextended('claims of ' || ${channelId}::text, 0))`,
  );
}

/** `is_own`: it belongs to the reconciled parts. */
type Claim = { is_own: boolean; remote_id: string | null; url: string | null };

/**
 * Returns the candidates of a reconcile that no other part or post of this service has; the one that these parts were
 * settled with comes first. Settled parts are identified by URL, in the ledger, or only on the channel if a restored
 * database had lost the send.
 *
 * @param em Its transaction holds `lockClaims`.
 */
export async function unclaimed(
  em: Em,
  { workspaceId, channelId, postChannelId }: OfAccount,
  step: readonly LedgerEntry[],
  candidates: readonly (readonly SentPart[])[],
): Promise<readonly (readonly SentPart[])[]> {
  const found = candidates.flat();
  const urls = found.map(({ url }) => postAddress(url));
  const claims = await query(
    em,
    sql<Claim>`
      select pp.id = any(${step.map(({ id }) => id)}::uuid[]) as is_own, pp.remote_id, pp.url from post_parts pp
      where pp.channel_id = ${channelId} and pp.workspace_id = ${workspaceId}
        and (pp.remote_id = any(${found.map(({ remoteId }) => remoteId)}::text[])
          or (pp.remote_id is null and pp.url = any(${urls}::text[])))
      union all
      select false, null, pc.url from post_channels pc
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.settled_at is not null
        and pc.url = any(${urls}::text[]) and pc.id <> ${postChannelId}`,
  );
  const has = (isOwn: boolean, parts: readonly SentPart[]): boolean =>
    parts.some(({ remoteId, url }) =>
      claims.some(
        (claim) =>
          claim.is_own === isOwn &&
          (claim.remote_id === remoteId || claim.url === postAddress(url)),
      ),
    );
  const free = candidates.filter((parts) => !has(false, parts));
  return [
    ...free.filter((parts) => has(true, parts)),
    ...free.filter((parts) => !has(true, parts)),
  ];
}

/** Counts posts with this text that other posts of the account may be creating now, with the youngest request's age. */
export async function sameTextUnderWay(
  em: Em,
  { workspaceId, channelId, postChannelId }: OfAccount,
  { text, withinMs }: { readonly text: string; readonly withinMs: number },
): Promise<{ readonly count: number; readonly youngestMs: number }> {
  const [row] = await query(
    em,
    sql<{ count: number; youngest: number }>`
      select count(*)::int as count, coalesce(min(age), 0)::float8 as youngest from (
        select extract(epoch from clock_timestamp() - pp.sending_at) * 1000 as age
        from post_channels pc
        join post_parts pp on pp.post_channel_id = pc.id and pp.workspace_id = pc.workspace_id
        where pc.workspace_id = ${workspaceId} and pc.channel_id = ${channelId} and pc.id <> ${postChannelId}
          and ${isOpenChannel} and ${openInSql('pp')} and pp.text = ${text}) as other
      where age < ${withinMs}`,
  );
  return { count: row?.count ?? 0, youngestMs: row?.youngest ?? 0 };
}
