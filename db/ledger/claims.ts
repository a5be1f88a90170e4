import { sql } from 'kysely';
import { postAddress } from '../../domain/links.ts';
import type { SentPart } from '../../networks/network.ts';
import type { Em } from '../orm.ts';
import { openInSql } from './part-states.ts';
import { query } from '../query.ts';
import type { Entry, LedgerOf } from './entries.ts';

/** A channel of a post, and the account behind it. */
export type OfAccount = LedgerOf & { readonly channelId: string };

/**
 * Until the transaction's end nobody else says, without the network's own word, which of our posts has what is live on
 * this channel: neither a try that finds it nor a person who settles it. Of two that do so at the same moment, the second
 * sees what the first wrote. Taken before rows of the ledger are locked.
 */
export async function lockClaims(em: Em, channelId: string): Promise<void> {
  await query(
    em,
    sql`select pg_advisory_xact_lock(hashtextextended('claims of ' || ${channelId}::text, 0))`,
  );
}

type Claim = {
  /** Whether it is of the parts that are looked for. */
  readonly is_own: boolean;
  readonly remote_id: string | null;
  readonly url: string | null;
};

/**
 * Which of the posts that a look-up found may be the parts that it was for: none that another part or post of ours has,
 * and first the one of which somebody said that it is this.
 *
 * What a network said is known by its id there. What a person settled is known by its address, in the ledger, or on the
 * channel alone where a restored database had nothing of the send.
 *
 * @param em Its transaction holds `lockClaims`.
 */
export async function unclaimed(
  em: Em,
  { workspaceId, channelId, postChannelId }: OfAccount,
  step: readonly Entry[],
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
 * How many posts with this text other posts of the account may be creating just now, and for how long the youngest of
 * these requests has been under way.
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
