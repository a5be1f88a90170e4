import type { PartState } from '../../db/ledger/part-states.ts';
import type { Em } from '../../db/orm.ts';

type Channel = { readonly workspaceId: string; readonly postChannelId: string };

/** What the ledger says of a channel's thread. Parts count from 0. */
export type LedgerView = {
  /** What may have been sent, in order; nobody knows. */
  readonly open: readonly LedgerPart[];
  /** What is live for certain, in order. */
  readonly sent: readonly LedgerPart[];
  /** What was not sent. */
  readonly missing: readonly LedgerPart[];
  readonly all: readonly LedgerPart[];
};

export type LedgerPart = {
  readonly id: string;
  readonly part: number;
  readonly run: number;
  readonly state: PartState;
  readonly url: string | null;
  /** When the last send began, and how long ago that is in milliseconds, both by the database's clock. */
  readonly sendingAt: Date | null;
  readonly sendingForMs: number | null;
};

type Row = Omit<LedgerPart, 'sendingAt' | 'sendingForMs'> & {
  readonly sending_at: string | Date | null;
  readonly sending_for_ms: number | null;
};

/** How much a state says of its part: what is live stays live, and what may be stays open. */
const weight: Readonly<Record<PartState, number>> = {
  sent: 2,
  sending: 1,
  ready: 0,
  refused: 0,
};

/** Reads the ledger of a channel and locks it. Of each part the row counts that a try would go by: see `readLedger`. */
export async function lockLedger(em: Em, channel: Channel): Promise<LedgerView> {
  const rows = await em.execute<Row[]>(
    `select id, part, run, state, url, sending_at,
       (extract(epoch from clock_timestamp() - sending_at) * 1000)::float8 as sending_for_ms
     from post_parts
     where post_channel_id = ? and workspace_id = ? order by part, run for update`,
    [channel.postChannelId, channel.workspaceId],
  );
  const lastRun = Math.max(0, ...rows.map(({ run }) => run));
  const parts = new Map<number, LedgerPart>();
  const byWeight = rows
    .filter(({ run, state }) => run === lastRun || weight[state] > 0)
    .toSorted((a, b) => weight[a.state] - weight[b.state] || a.run - b.run);
  for (const { sending_at: at, sending_for_ms: sendingForMs, ...row } of byWeight) {
    parts.set(row.part, { ...row, sendingForMs, sendingAt: at === null ? null : new Date(at) });
  }

  const all = [...parts.values()].toSorted((a, b) => a.part - b.part);
  const withWeight = (wanted: number): LedgerPart[] =>
    all.filter(({ state }) => weight[state] === wanted);
  return { open: withWeight(1), sent: withWeight(2), missing: withWeight(0), all };
}

/**
 * Closes what is open: it is live. Its id on the network is not known, so a thread that is to go on after it is looked
 * for first (`sendThread`).
 *
 * @param url Of the first open part.
 */
export async function settleAsSent(
  em: Em,
  { workspaceId, postChannelId }: Channel,
  url: string,
  now: Date,
): Promise<void> {
  await em.execute(
    `update post_parts a set state = 'sent', updated_at = ?,
       url = case when a.part = (select min(part) from post_parts o where o.post_channel_id = a.post_channel_id
         and o.workspace_id = a.workspace_id and o.state = 'sending') then ? else url end
     where post_channel_id = ? and workspace_id = ? and state = 'sending'`,
    [now, url, postChannelId, workspaceId],
  );
}

/** Closes what is open: nothing came of it. A later publishing may send it. */
export async function settleAsRefused(
  em: Em,
  { workspaceId, postChannelId }: Channel,
  now: Date,
): Promise<void> {
  await em.execute(
    `update post_parts set state = 'refused', sending_at = null, updated_at = ?
     where post_channel_id = ? and workspace_id = ? and state = 'sending'`,
    [now, postChannelId, workspaceId],
  );
}
