import { sql } from 'kysely';
import { postAddress } from '../../domain/links.ts';
import type { SentPart } from '../../networks/network.ts';
import type { Em } from '../orm.ts';
import { openInSql } from './part-states.ts';
import { query } from '../query.ts';
import type { LedgerEntry, LedgerOf } from './entries.ts';

/** A channel of a post, with its account. */
export type OfAccount = LedgerOf & { readonly channelId: string };

/**
 * Takes an advisory lock until the transaction ends. It serializes claims of live posts per channel, by reconciles and
 * by settlements, so that the second sees the first. Taken before rows of the ledger are locked.
 */
export async function lockClaims(em: Em, channelId: string): Promise<void> {
  await query(
    em,
    sql`select pg_advisory_xact_lock(hashtextextended('claims of ' || ${channelId}::text, 0))`,
  );
}

type Claim = {
  /** Whether it belongs to the reconciled parts. */
  readonly is_own: boolean;
  readonly remote_id: string | null;
  readonly url: string | null;
};

/**
 * Returns the candidates of a reconcile that no other part or post of this service has; the one that these parts were
 * settled with comes first.
 *
 * Results of networks are identified by their id there. Settled ones are identified by URL, in the ledger, or only on
 * the channel if a restored database had lost the send.
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

/**
 * Counts posts with this text that other posts of the account may be creating now, and returns the age of the youngest
 * request.
 */
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
          and pc.status in ('publishing', 'retrying') and ${openInSql('pp')} and pp.text = ${text}) as other
      where age < ${withinMs}`,
  );
  return { count: row?.count ?? 0, youngestMs: row?.youngest ?? 0 };
}
