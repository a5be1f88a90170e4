import { sql, type RawBuilder } from 'kysely';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { PartMedia, PreparedPart, SentPart } from '../../networks/network.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import { openInSql, outInSql, type PartState } from './part-states.ts';

/** Whose ledger it is: the channel of a post. */
export type LedgerOf = { readonly workspaceId: string; readonly postChannelId: string };

/** One part of a thread as the ledger knows it. Parts count from 0. */
export type Entry = PreparedPart & {
  readonly id: string;
  /** The run that it is of. */
  readonly run: number;
  readonly part: number;
  /** `new`: not in the ledger yet. The intent to send the thread's first part writes it there. */
  readonly state: PartState | 'new';
  readonly sent: SentPart | null;
  /** When the last send began, by the database's clock. */
  readonly sendingAt: Date | null;
  /** What a try kept of its files that are on their way. */
  readonly sealedUploads: string | null;
  /** How long ago that was when the ledger was read, by the same clock: those of two workers may differ. */
  readonly sendingForMs: number | null;
};

/** As PostgreSQL gives it inside JSON too, where moments are texts. */
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
 * The rows that count of a channel's thread, in order: those of a run, and of earlier runs what was sent and what may have
 * been. So an intent stays open until its outcome is known, whichever run it is of.
 *
 * @param run An expression in SQL, or a number.
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
    and (run = ${run} or ${outInSql('pp')})
  order by part, state = 'sent' desc, ${openInSql('pp')} desc, run desc`;

/** The last run that the ledger knows of a channel. */
export const lastRun = ({ workspaceId, postChannelId }: LedgerOf): RawBuilder<number> =>
  sql<number>`(select max(run) from post_parts
    where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId})`;

/** What the entries of a post's channel have in common with no other, and the ledger does not hold. */
export type PostedContent = {
  /** The files of each part. */
  readonly media: readonly (readonly PartMedia[])[];
  readonly options: Options;
  readonly optionFiles: Readonly<Record<string, PartMedia>>;
};

/** Reads the ledger as it is now. */
export async function readEntries(
  em: Em,
  of: LedgerOf,
  run: RawBuilder<unknown> | number,
  content: PostedContent = { media: [], options: {}, optionFiles: {} },
): Promise<Entry[]> {
  return entriesOf(content, await query(em, countingRows(of, run)));
}

export const entriesOf = (
  { media, options, optionFiles }: PostedContent,
  rows: readonly EntryRow[],
): Entry[] =>
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

/** Whether every part is known to be on the network, and where. The first intent writes all of them down. */
export const isWhole = (entries: readonly Entry[]): boolean =>
  entries.length > 0 && entries.every(({ sent }) => sent !== null);

/** Where those parts are of which the network's id is known. */
export const sentParts = (entries: readonly Entry[]): SentPart[] =>
  entries.flatMap(({ sent }) => (sent === null ? [] : [sent]));
