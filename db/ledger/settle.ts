import { sql } from 'kysely';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import { countingRows, lastRun, type LedgerOf } from './entries.ts';
import { isOpen, isOut, openInSql } from './part-states.ts';

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

type LedgerPart = {
  readonly part: number;
  readonly url: string | null;
  /** When the last send began, and how long ago that is in milliseconds, both by the database's clock. */
  readonly sendingAt: Date | null;
  readonly sendingForMs: number | null;
};

/** Reads what a try of the channel would go by, and locks it. */
export async function lockLedger(em: Em, of: LedgerOf): Promise<LedgerView> {
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
    sent: partsOf(rows.filter((row) => isOut(row) && !isOpen(row))),
    missing: partsOf(rows.filter((row) => !isOut(row))),
    all: partsOf(rows),
  };
}

/**
 * Closes what is open: it is live. Its id on the network is not known, so a thread that is to go on after it is looked
 * for first (`sendThread`).
 *
 * @param url Of the first open part.
 */
export async function closeAsSent(
  em: Em,
  { workspaceId, postChannelId }: LedgerOf,
  url: string,
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update post_parts pp set state = 'sent', updated_at = ${now},
          url = case when pp.part = (select min(opened.part) from post_parts opened
            where opened.post_channel_id = pp.post_channel_id and opened.workspace_id = pp.workspace_id
              and ${openInSql('opened')}) then ${url}::text else pp.url end
        where pp.post_channel_id = ${postChannelId} and pp.workspace_id = ${workspaceId} and ${openInSql('pp')}`,
  );
}

/** Closes what is open: nothing came of it. A later run may send it. */
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

/** Where the parts of a channel are of which that is known. */
export async function sentUrls(
  em: Em,
  { workspaceId, postChannelId }: LedgerOf,
): Promise<string[]> {
  const rows = await query(
    em,
    sql<{ url: string }>`
      select url from post_parts
      where post_channel_id = ${postChannelId} and workspace_id = ${workspaceId} and state = 'sent' and url is not null`,
  );
  return rows.map(({ url }) => url);
}

/**
 * The other post of a channel that has this address, or of which a part has it. The ledger has what networks said and
 * people settled; where a restored database had nothing, the channel alone has it.
 *
 * @param url As `postAddress` writes it.
 */
export async function postAt(
  em: Em,
  { workspaceId, channelId, postChannelId }: LedgerOf & { readonly channelId: string },
  url: string,
): Promise<string | null> {
  const [other] = await query(
    em,
    sql<{ post_id: string }>`
      select post_id from post_channels where workspace_id = ${workspaceId} and id in (
        select pp.post_channel_id from post_parts pp
        where pp.channel_id = ${channelId} and pp.workspace_id = ${workspaceId} and pp.url = ${url}
          and pp.post_channel_id <> ${postChannelId} and pp.state <> 'refused'
        union all
        select pc.id from post_channels pc
        where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.settled_at is not null
          and pc.url = ${url} and pc.id <> ${postChannelId})
      limit 1`,
  );
  return other?.post_id ?? null;
}
