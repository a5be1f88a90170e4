import { sql } from 'kysely';
import type { ChannelGrant } from '../entities/channels.ts';
import type { Em } from '../orm.ts';
import { query } from '../query.ts';
import type { ChannelKey } from './channels.ts';

export type GrantedChannel = ChannelKey & {
  readonly platform: string;
  readonly baseUrl: string;
  readonly remoteId: string;
};

type NewGrant = Pick<ChannelGrant, 'sealedGrant' | 'accessEndsAt' | 'endsAt'>;

/** Stores a channel's first or a new grant, as never refreshed and never warned of. */
export const putGrant = (
  em: Em,
  { workspaceId, channelId }: ChannelKey,
  { sealedGrant, accessEndsAt, endsAt }: NewGrant,
): Promise<unknown> =>
  query(
    em,
    sql`insert into channel_grants (channel_id, workspace_id, sealed_grant, access_ends_at, ends_at, created_at)
      values (${channelId}, ${workspaceId}, ${sealedGrant}, ${accessEndsAt}, ${endsAt}, clock_timestamp())
      on conflict (channel_id) do update set sealed_grant = excluded.sealed_grant,
        access_ends_at = excluded.access_ends_at, ends_at = excluded.ends_at, warned_of = null,
        failing_since = null, refreshed_at = null, refreshing_until = null, created_at = excluded.created_at`,
  );

const connected = sql`channel_grants g
  join channels c on c.id = g.channel_id and c.workspace_id = g.workspace_id
    and c.state = 'connected' and c.disconnected_at is null`;

const columns = sql`g.channel_id as "channelId", g.workspace_id as "workspaceId", c.platform, c.base_url as "baseUrl",
  c.remote_id as "remoteId", g.sealed_grant as sealed`;

/** A grant without a refresh token ends with its access token. */
const canBeRefreshed = sql`g.ends_at is distinct from g.access_ends_at`;

/**
 * Finds grants that a day after their last refresh end soon, were idle for 30 days (Bluesky ends such a grant after
 * three months), or whose expired access token a post needs within a day. In random order, so that unresponsive
 * networks do not delay the others.
 */
export const findGrantsToRefresh = (
  em: Em,
  now: Date,
  warnedUntil: Date,
  most: number,
): Promise<(GrantedChannel & { readonly sealed: string })[]> =>
  query(
    em,
    sql<GrantedChannel & { readonly sealed: string }>`select ${columns} from ${connected}
      where coalesce(g.refreshed_at, g.created_at) < ${now}::timestamptz - interval '24 h' and (
        g.ends_at <= ${warnedUntil} and ${canBeRefreshed}
        or coalesce(g.refreshed_at, g.created_at) < ${now}::timestamptz - interval '720 h' and ${canBeRefreshed}
        or g.access_ends_at <= ${now} and exists (
          select 1 from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
          where pc.channel_id = g.channel_id and pc.workspace_id = g.workspace_id and pc.status = 'scheduled'
            and p.status = 'scheduled' and p.scheduled_at <= ${now}::timestamptz + interval '24 h'))
      order by random() limit ${most}`,
  );

/** Finds grants that have ended, or end by a time without a warning so far. */
export const findEndingGrants = (
  em: Em,
  now: Date,
  warnedUntil: Date,
  most: number,
): Promise<GrantedChannel[]> =>
  query(
    em,
    sql<GrantedChannel>`select ${columns} from ${connected}
      where g.ends_at <= ${warnedUntil} and (g.ends_at <= ${now} or g.warned_of is null)
      order by g.ends_at limit ${most}`,
  );

type EndingGrant = { readonly platform: string; readonly handle: string; readonly endsAt: Date };

/** Locks such a grant. Skips one that is being refreshed, since its end may move. The next sweep checks it again. */
export async function lockEndingGrant(
  em: Em,
  { workspaceId, channelId }: ChannelKey,
  now: Date,
): Promise<EndingGrant | undefined> {
  const [found] = await query(
    em,
    sql<EndingGrant>`
      select c.platform, c.handle, g.ends_at as "endsAt" from ${connected}
      where g.channel_id = ${channelId} and g.workspace_id = ${workspaceId}
        and (g.ends_at <= ${now} or g.warned_of is null)
        and (g.refreshing_until is null or g.refreshing_until <= clock_timestamp())
      for no key update of c, g skip locked`,
  );
  return found;
}

// One process at a time refreshes a grant, over all workers: a network with single-use refresh tokens ends the whole
// grant when it sees one twice. The lease is a pair of columns of the grant's row. No lock is held during the request:
// a hanging network would otherwise block one database connection per channel.

/** Lease duration without a renewal, in seconds. The holder renews it, so a dead process is noticed soon. */
const leaseSeconds = sql.lit(15);

const fromNow = sql`clock_timestamp() + ${leaseSeconds} * interval '1 second'`;

/** A refresh of one stored grant. Every write is conditional on that grant. */
export type RefreshLease = ChannelKey & {
  readonly sealed: string;
  /** UUID of this refresh. A stalled process whose lease expired cannot change its successor's lease. */
  readonly by: string;
};

const isSame = ({ workspaceId, channelId, sealed }: RefreshLease) =>
  sql`channel_id = ${channelId} and workspace_id = ${workspaceId} and sealed_grant = ${sealed}`;

/** @returns whether this process has the lease: false while another one holds it, or when the grant was replaced. */
export async function takeRefreshLease(em: Em, lease: RefreshLease): Promise<boolean> {
  const rows = await query(
    em,
    sql`update channel_grants set refreshing_until = ${fromNow}, refreshing_by = ${lease.by}
      where ${isSame(lease)} and (refreshing_until is null or refreshing_until <= clock_timestamp())
      returning channel_id`,
  );
  return rows.length > 0;
}

export const renewRefreshLease = (em: Em, lease: RefreshLease): Promise<unknown> =>
  query(
    em,
    sql`update channel_grants set refreshing_until = ${fromNow}
      where ${isSame(lease)} and refreshing_by = ${lease.by}`,
  );

/** Ends a lease after a failed refresh. @param pauseMs No refresh begins before; null for at once. */
export const releaseRefreshLease = (
  em: Em,
  lease: RefreshLease,
  now: Date,
  pauseMs: number | null,
): Promise<unknown> =>
  query(
    em,
    sql`update channel_grants set failing_since = coalesce(failing_since, ${now}),
        refreshing_until = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond'
      where ${isSame(lease)} and refreshing_by = ${lease.by}`,
  );
