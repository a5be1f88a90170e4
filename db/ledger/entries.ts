import { sql, type RawBuilder } from 'kysely';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { PartMedia, PreparedPart, SentPart } from '../../networks/network.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import { openInSql, mayBeLiveInSql, type PartState } from './part-states.ts';

/** Identifies a ledger: the channel of a post. */
export type LedgerOf = { readonly workspaceId: string; readonly postChannelId: string };

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
export type EntryRow = {
  id: string;
  run: number;
  part: number;
  key: string;
  text: string;
  state: PartState;
  remote_data: Json;
  remote_id: string | null;
  url: string | null;
  warning: string | null;
  sealed_uploads: string | null;
  sending_at: string | Date | null;
  sending_for_ms: number | null;
};

/**
 * SQL: the current rows of a channel's thread, in order: those of a run, and parts of earlier runs that are or may be
 * live. So an intent of any run stays open until its outcome is known.
 *
 * @param run A number or an SQL expression.
 */
export const countingRows = (
  { workspaceId, postChannelId }: LedgerOf,
  run: RawBuilder<unknown> | number,
): RawBuilder<EntryRow> => sql<EntryRow>`
  select distinct on (part) id, run, part, key, text, state, remote_data, remote_id, url, warning,
    sealed_uploads, sending_at,
    (extract(epoch from clock_timestamp() - sending_at) * 1000)::float8 as sending_for_ms
  from post_parts pp
  where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId}
    and (run = ${run} or ${mayBeLiveInSql('pp')})
  order by part, state = 'sent' desc, ${openInSql('pp')} desc, run desc`;

/** SQL: the last run in the ledger of a channel. */
export const lastRun = ({ workspaceId, postChannelId }: LedgerOf): RawBuilder<number> =>
  sql<number>`(select max(run) from post_parts
    where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId})`;

/** Content of a post's channel that the ledger does not store. */
export type PostedContent = {
  /** Files of each part. */
  readonly media: readonly (readonly PartMedia[])[];
  readonly options: Options;
  readonly optionFiles: Readonly<Record<string, PartMedia>>;
};

/** Reads the current ledger. */
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
  rows.map((row) => ({
    id: row.id,
    run: row.run,
    part: row.part,
    key: row.key,
    text: row.text,
    state: row.state,
    media: media[row.part] ?? [],
    options,
    optionFiles,
    data: row.remote_data,
    sent: sentOf(row),
    sendingAt: row.sending_at === null ? null : new Date(row.sending_at),
    sendingForMs: row.sending_for_ms,
    sealedUploads: row.sealed_uploads,
  }));

const sentOf = ({ remote_id: remoteId, url, warning }: EntryRow): SentPart | null =>
  remoteId !== null && url !== null
    ? { remoteId, url, ...(warning === null ? {} : { warning }) }
    : null;

/** Whether every part is live, with its id. The first intent stores all parts. */
export const isComplete = (entries: readonly LedgerEntry[]): boolean =>
  entries.length > 0 && entries.every(({ sent }) => sent !== null);

/** Live parts whose network id is known. */
export const sentPartsOf = (entries: readonly LedgerEntry[]): SentPart[] =>
  entries.flatMap(({ sent }) => (sent === null ? [] : [sent]));
