import { ask } from '../../db/ask.ts';
import type { AttemptState } from '../../db/entities/publish-attempt.ts';
import { newId } from '../../db/new-id.ts';
import type {
  Connection,
  FrozenPart,
  Json,
  Network,
  Part,
  SentPart,
} from '../../networks/network.ts';
import { sha256Hex } from '../../runtime/token.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/** One part of the thread as the ledger knows it. */
export type Entry = FrozenPart & {
  readonly id: string;
  readonly part: number;
  readonly state: AttemptState;
  readonly sent: SentPart | null;
  /** When the last send began, by the database's clock. */
  readonly sendingAt: Date | null;
  /** How long ago that was when the ledger was read, by the same clock: those of two workers may differ. */
  readonly sendingForMs: number | null;
};

type Row = {
  id: string;
  part: number;
  key: string;
  text: string;
  state: AttemptState;
  remote_data: Json;
  remote_id: string | null;
  url: string | null;
  sending_at: string | Date | null;
  sending_for_ms: number | null;
};

/**
 * The ledger's entries of this channel's thread, in order: this run's own, and of earlier runs what was sent and
 * what may have been. So an intent stays open until it is settled, whichever run it is of.
 */
export async function readLedger(deps: ActivityDeps, target: PublishTarget): Promise<Entry[]> {
  const rows = await ask<Row>(
    deps.orm.em.fork(),
    `select distinct on (part) id, part, key, text, state, remote_data, remote_id, url, sending_at,
       (extract(epoch from clock_timestamp() - sending_at) * 1000)::float8 as sending_for_ms
     from publish_attempts
     where post_channel_id = $1 and workspace_id = $2 and (run = $3 or state in ('sent', 'sending', 'unknown'))
     order by part, state = 'sent' desc, state in ('sending', 'unknown') desc, run desc`,
    [target.postChannelId, target.workspaceId, target.run],
  );
  return rows.map((row) => ({
    id: row.id,
    part: row.part,
    key: row.key,
    text: row.text,
    state: row.state,
    media: mediaOf(target, row.part),
    data: row.remote_data,
    sent:
      row.remote_id !== null && row.url !== null ? { remoteId: row.remote_id, url: row.url } : null,
    sendingAt: row.sending_at === null ? null : new Date(row.sending_at),
    sendingForMs: row.sending_for_ms,
  }));
}

/**
 * The ledger with an entry for every part, before anything is sent. What the network freezes is computed once:
 * of two tries that come here together the first to commit decides, and the other reads what it wrote.
 */
export async function openLedger(
  deps: ActivityDeps,
  target: PublishTarget,
  network: Network,
  connection: Connection,
): Promise<Entry[]> {
  const entries = await readLedger(deps, target);
  const known = new Set(entries.map(({ part }) => part));
  const missing: (Part & { part: number })[] = [];
  for (const [part, text] of target.texts.entries()) {
    if (!known.has(part)) {
      const key = `${target.postChannelId}-${target.run}-${part}`;
      missing.push({ part, key, text, media: mediaOf(target, part) });
    }
  }

  if (missing.length === 0) {
    return entries;
  }

  const frozen = await network.freeze(connection, missing, deps.now().getTime());
  const added = missing.map(({ part, key, text, media }, index): Entry => ({
    id: newId(),
    part,
    key,
    text,
    media,
    data: frozen[index]?.data ?? null,
    state: 'ready',
    sent: null,
    sendingAt: null,
    sendingForMs: null,
  }));
  return (await addEntries(deps, target, added))
    ? [...entries, ...added].toSorted((a, b) => a.part - b.part)
    : readLedger(deps, target);
}

/** @returns whether all of them are in the ledger now; false when another try had some of them there before. */
async function addEntries(
  deps: ActivityDeps,
  { workspaceId, postChannelId, channelId, run }: PublishTarget,
  entries: readonly Entry[],
): Promise<boolean> {
  const added = await ask(
    deps.orm.em.fork(),
    `insert into publish_attempts (id, workspace_id, post_channel_id, channel_id, run, part, key, state,
       text, content_hash, remote_data, created_at, updated_at)
     select id, $1, $2, $3, $4, part, key, 'ready', text, content_hash, remote_data::jsonb, $5, $5
     from unnest($6::uuid[], $7::int[], $8::text[], $9::text[], $10::text[], $11::text[])
       as entry (id, part, key, text, content_hash, remote_data)
     on conflict (post_channel_id, run, part) do nothing returning id`,
    [
      workspaceId,
      postChannelId,
      channelId,
      run,
      deps.now(),
      entries.map(({ id }) => id),
      entries.map(({ part }) => part),
      entries.map(({ key }) => key),
      entries.map(({ text }) => text),
      entries.map(({ text }) => sha256Hex(text)),
      entries.map(({ data }) => JSON.stringify(data)),
    ],
  );
  return added.length === entries.length;
}

/** A thread's files are on its first post. */
const mediaOf = ({ media }: PublishTarget, part: number): Part['media'] =>
  part === 0 ? media : [];
