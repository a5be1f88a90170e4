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
  readonly sendingAt: Date | null;
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
};

/**
 * The ledger's entries of this channel's thread, in order: this run's own, and of earlier runs what was sent and
 * what may have been. So an intent stays open until it is settled, whichever run it is of.
 */
export async function readLedger(deps: ActivityDeps, target: PublishTarget): Promise<Entry[]> {
  const rows = await deps.orm.em.fork().execute<Row[]>(
    `select distinct on (part) id, part, key, text, state, remote_data, remote_id, url, sending_at
     from publish_attempts
     where post_channel_id = ? and workspace_id = ? and (run = ? or state in ('sent', 'sending', 'unknown'))
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
  const now = deps.now();
  await deps.orm.em.fork().transactional(async (em) => {
    for (const [index, { part, key, text }] of missing.entries()) {
      await em.execute(
        `insert into publish_attempts (id, workspace_id, post_channel_id, channel_id, run, part, key, state,
           text, content_hash, remote_data, created_at, updated_at)
         values (?, ?, ?, ?, ?, ?, ?, 'ready', ?, ?, ?::jsonb, ?, ?)
         on conflict (post_channel_id, run, part) do nothing`,
        [
          newId(),
          target.workspaceId,
          target.postChannelId,
          target.channelId,
          target.run,
          part,
          key,
          text,
          sha256Hex(text),
          JSON.stringify(frozen[index]?.data ?? null),
          now,
          now,
        ],
      );
    }
  });
  return readLedger(deps, target);
}

/** A thread's files are on its first post. */
const mediaOf = ({ media }: PublishTarget, part: number): Part['media'] =>
  part === 0 ? media : [];
