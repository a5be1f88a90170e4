import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import type { PartState } from '../../db/ledger/part-states.ts';
import { newId } from '../../db/new-id.ts';
import type {
  Connection,
  PreparedPart,
  Json,
  Network,
  Part,
  SentPart,
} from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import {
  insertedColumns,
  insertedEntries,
  insertedValues,
  valuesToInsert,
} from './ledger-insert.ts';
import type { PublishTarget } from './target.ts';

/** One part of the thread as the ledger knows it. */
export type Entry = PreparedPart & {
  readonly id: string;
  /** The publishing that it is of. */
  readonly run: number;
  readonly part: number;
  /** `new`: not in the ledger yet. The intent to send the thread's first part writes it there. */
  readonly state: PartState | 'new';
  readonly sent: SentPart | null;
  /** When the last send began, by the database's clock. */
  readonly sendingAt: Date | null;
  /** How long ago that was when the ledger was read, by the same clock: those of two workers may differ. */
  readonly sendingForMs: number | null;
};

export type LedgerRow = {
  id: string;
  run: number;
  part: number;
  key: string;
  text: string;
  state: PartState;
  remote_data: Json;
  remote_id: string | null;
  url: string | null;
  sending_at: string | Date | null;
  sending_for_ms: number | null;
};

/**
 * The ledger's entries of a channel's thread, in order: this run's own, and of earlier runs what was sent and what may
 * have been. So an intent stays open until it is settled, whichever run it is of. $1 is the post's channel, $2 the
 * workspace.
 *
 * @param run An expression in SQL.
 */
export const ledgerRows = (
  run: string,
): string => `select distinct on (part) id, run, part, key, text, state, remote_data, remote_id, url, sending_at,
    (extract(epoch from clock_timestamp() - sending_at) * 1000)::float8 as sending_for_ms
  from post_parts
  where post_channel_id = $1 and workspace_id = $2 and (run = ${run} or state in ('sent', 'sending'))
  order by part, state = 'sent' desc, state = 'sending' desc, run desc`;

/** Reads the ledger as it is now. */
export async function readLedger(
  deps: ActivityDeps,
  target: PublishTarget,
  em: Em = deps.orm.em.fork(),
): Promise<Entry[]> {
  const values = [target.postChannelId, target.workspaceId, target.run];
  const rows = await ask<LedgerRow>(em, ledgerRows('$3'), values);
  return entriesOf(target.media, rows);
}

/** @param media Of the thread. */
export const entriesOf = (media: Part['media'], rows: readonly LedgerRow[]): Entry[] =>
  rows.map((row) => ({
    id: row.id,
    run: row.run,
    part: row.part,
    key: row.key,
    text: row.text,
    state: row.state,
    media: mediaOf(media, row.part),
    data: row.remote_data,
    sent:
      row.remote_id !== null && row.url !== null ? { remoteId: row.remote_id, url: row.url } : null,
    sendingAt: row.sending_at === null ? null : new Date(row.sending_at),
    sendingForMs: row.sending_for_ms,
  }));

/**
 * The ledger with an entry for every part, before anything is sent. What the network prepares is computed once:
 * of two tries that come here together the first to commit decides, and the other reads what it wrote.
 *
 * @param known What was read of it, if that is not old.
 */
export async function openLedger(
  deps: ActivityDeps,
  target: PublishTarget,
  { network, connection }: { readonly network: Network; readonly connection: Connection },
  known?: readonly Entry[],
): Promise<readonly Entry[]> {
  const entries = known ?? (await readLedger(deps, target));
  const parts = new Set(entries.map(({ part }) => part));
  const missing: (Part & { part: number })[] = [];
  for (const [part, text] of target.texts.entries()) {
    if (!parts.has(part)) {
      const key = `${target.postChannelId}-${target.run}-${part}`;
      missing.push({ part, key, text, media: mediaOf(target.media, part) });
    }
  }

  if (missing.length === 0) {
    return entries;
  }

  const before = entries.filter(({ part }) => part < (missing[0]?.part ?? 0));
  const prepared = await network.prepare(connection, missing, deps.now().getTime(), before);
  const added = missing.map(({ part, key, text, media }, index): Entry => ({
    id: newId(),
    run: target.run,
    part,
    key,
    text,
    media,
    data: prepared[index]?.data ?? null,
    state: 'new',
    sent: null,
    sendingAt: null,
    sendingForMs: null,
  }));
  if (entries.length === 0) {
    return added;
  }

  return (await addEntries(deps, target, added))
    ? [...entries, ...added.map(asReady)].toSorted((a, b) => a.part - b.part)
    : readLedger(deps, target);
}

/** Whether every part is known to be on the network, and where. The first intent writes all of them down. */
export const isWhole = (entries: readonly Entry[]): boolean =>
  entries.length > 0 && entries.every(({ sent }) => sent !== null);

/** Whether the network may have this part: nobody knows. */
export const isOpen = ({ state }: Entry): boolean => state === 'sending';

/** Where those parts are of which the network's id is known. */
export const sentParts = (entries: readonly Entry[]): SentPart[] =>
  entries.flatMap(({ sent }) => (sent === null ? [] : [sent]));

/** An entry that has come into the ledger, and is not sent. */
export const asReady = (entry: Entry): Entry => ({
  ...entry,
  state: entry.state === 'new' ? 'ready' : entry.state,
});

/** @returns whether all of them are in the ledger now; false when another try had some of them there before. */
async function addEntries(
  deps: ActivityDeps,
  target: PublishTarget,
  entries: readonly Entry[],
): Promise<boolean> {
  const added = await ask(
    deps.orm.em.fork(),
    `insert into post_parts (${insertedColumns})
     select ${insertedValues}, 'ready', null from ${insertedEntries}
     on conflict (post_channel_id, run, part) do nothing returning id`,
    valuesToInsert(target, entries, deps.now()),
  );
  return added.length === entries.length;
}

/** A thread's files are on its first post. */
const mediaOf = (media: Part['media'], part: number): Part['media'] => (part === 0 ? media : []);
