import { sql } from 'kysely';
import { query } from '../db/query.ts';
import type { AccountDeps } from './deps.ts';
import type { ChannelKey } from './grants.ts';

// One process at a time refreshes a grant, over all workers: a network with single-use refresh tokens ends the whole
// grant when it sees one twice. The lease is a pair of columns of the grant's row. No lock is held during the request:
// a hanging network would otherwise block one database connection per channel.

/** Lease duration without a renewal, in seconds. The holder renews it, so a dead process is noticed soon. */
const leaseSeconds = sql.lit(15);

/** Renewal interval in milliseconds; below a third of the lease. */
const renewMs = 5000;

/** Pause after a failed refresh while the old access token is usable, in seconds. */
const pauseSeconds = sql.lit(30);

/** Delay between two attempts to store a new grant, in milliseconds. */
export const storeWaitMs = 250;

/**
 * Delay before the refresh after taking over an expired lease, in milliseconds. The last holder may be alive, with a
 * new grant that it could not store while the database was away.
 */
export const takeOverMs = 4 * storeWaitMs;

/** A refresh of one stored grant. Every write is conditional on that grant. */
export type RefreshLease = ChannelKey & {
  readonly sealed: string;
  /** UUID of this refresh. A stalled process whose lease expired cannot change its successor's lease. */
  readonly by: string;
};

const at = ({ workspaceId, channelId, sealed }: RefreshLease) =>
  sql`channel_id = ${channelId} and workspace_id = ${workspaceId} and sealed_grant = ${sealed}`;

const isHeld = (turn: RefreshLease) => sql`${at(turn)} and refreshing_by = ${turn.by}`;

const fromNow = sql`clock_timestamp() + ${leaseSeconds} * interval '1 second'`;

/** @returns whether this process has the lease: false while another one holds it, or when the grant was replaced. */
export async function takeRefreshLease({ orm }: Pick<AccountDeps, 'orm'>, turn: RefreshLease) {
  const rows = await query(
    orm.em.fork(),
    sql`update channel_grants set refreshing_until = ${fromNow}, refreshing_by = ${turn.by}
      where ${at(turn)} and (refreshing_until is null or refreshing_until <= clock_timestamp())
      returning channel_id`,
  );
  return rows.length > 0;
}

/** Renews the lease until the returned function is called. */
export function keepRefreshLease(
  { orm }: Pick<AccountDeps, 'orm'>,
  turn: RefreshLease,
): () => void {
  const timer = setInterval(() => {
    query(
      orm.em.fork(),
      sql`update channel_grants set refreshing_until = ${fromNow} where ${isHeld(turn)}`,
    ).catch(() => undefined); // Without the database no other process can take the lease.
  }, renewMs);
  return () => clearInterval(timer);
}

/** Ends a lease after a failed refresh. @param pauses Whether the old access token is still usable. */
export async function releaseRefreshLease(
  { orm, now }: Pick<AccountDeps, 'orm' | 'now'>,
  turn: RefreshLease,
  { pauses }: { readonly pauses: boolean },
): Promise<void> {
  const until = pauses ? sql`clock_timestamp() + ${pauseSeconds} * interval '1 second'` : sql`null`;
  await query(
    orm.em.fork(),
    sql`update channel_grants set failing_since = coalesce(failing_since, ${now()}), refreshing_until = ${until}
      where ${isHeld(turn)}`,
  );
}
