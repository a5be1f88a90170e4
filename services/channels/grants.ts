import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { grantPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import { warnBeforeMs } from '../../domain/statuses.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import type { Sealer } from '../../runtime/secrets.ts';

export type ChannelKey = { readonly workspaceId: string; readonly channelId: string };

/** A channel that was connected through OAuth. */
export type GrantedChannel = ChannelKey & {
  readonly platform: string;
  readonly baseUrl: string;
  readonly remoteId: string;
};

export type CurrentGrant = {
  readonly grant: Grant;
  /** When the grant was last refreshed; null for the first grant. */
  readonly refreshedAt: Date | null;
};

/**
 * An access token that expires within this is replaced before use, in milliseconds. An attempt takes up to four
 * minutes.
 */
const earlyMs = 10 * 60_000;

/** Whether the access token must be replaced before use. A token without a known expiry is used. */
export const endsSoon = ({ accessEndsAtMs }: Grant, nowMs: number): boolean =>
  accessEndsAtMs !== null && accessEndsAtMs - earlyMs <= nowMs;

/** A token with less left, in milliseconds, could expire during the request. */
const shortestMs = 60_000;

/** Whether the access token is still usable, even if it should be replaced. */
export const isStillUsable = ({ accessEndsAtMs }: Grant, nowMs: number): boolean =>
  accessEndsAtMs === null || accessEndsAtMs - shortestMs > nowMs;

/** The credentials that an adapter uses. */
export const credentialsOf = ({ accessToken, data }: Grant): Json => ({
  accessToken,
  ...(data === undefined ? {} : { data }),
});

export const openGrant = (sealer: Sealer, channelId: string, sealed: string): Grant =>
  JSON.parse(sealer.open(sealed, grantPurpose(channelId))) as Grant;

/** Replaces the channel's grant. @param grant Null when the channel has credentials of its own. */
export async function storeGrant(
  em: Em,
  sealer: Sealer,
  { workspaceId, channelId }: ChannelKey,
  grant: Grant | null,
): Promise<void> {
  if (grant === null) {
    await query(
      em,
      sql`delete from channel_grants where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
    );
    return;
  }

  const { sealed, accessEndsAt, endsAt } = rowOf(sealer, channelId, grant);
  await query(
    em,
    sql`insert into channel_grants (channel_id, workspace_id, sealed_grant, access_ends_at, ends_at, created_at)
      values (${channelId}, ${workspaceId}, ${sealed}, ${accessEndsAt}, ${endsAt}, clock_timestamp())
      on conflict (channel_id) do update set sealed_grant = excluded.sealed_grant,
        access_ends_at = excluded.access_ends_at, ends_at = excluded.ends_at, warned_of = null,
        failing_since = null, refreshed_at = null, refreshing_until = null, created_at = excluded.created_at`,
  );
}

/**
 * Minimum extension of a grant before its owner is warned again, in milliseconds. A network that reports the seconds
 * left gives a slightly different end at each refresh.
 */
const putOffMs = 24 * 3_600_000;

/**
 * Replaces the grant that was refreshed, unless another one was stored meanwhile.
 *
 * @param before The sealed grant that was refreshed.
 * @returns whether it was still stored.
 */
export async function replaceGrant(
  em: Em,
  sealer: Sealer,
  { workspaceId, channelId }: ChannelKey,
  { before, grant, at }: { readonly before: string; readonly grant: Grant; readonly at: Date },
): Promise<boolean> {
  const { sealed, accessEndsAt, endsAt } = rowOf(sealer, channelId, grant);
  const farAt = new Date(at.getTime() + warnBeforeMs + putOffMs);
  const replaced = await query(
    em,
    sql`update channel_grants set sealed_grant = ${sealed}, access_ends_at = ${accessEndsAt},
        ends_at = ${endsAt}, warned_of = case when ${endsAt}::timestamptz <= ${farAt} then warned_of end,
        failing_since = null, refreshed_at = ${at}, refreshing_until = null
      where channel_id = ${channelId} and workspace_id = ${workspaceId} and sealed_grant = ${before}
      returning channel_id`,
  );
  return replaced.length > 0;
}

/** The columns of a grant. */
const rowOf = (sealer: Sealer, channelId: string, grant: Grant) => ({
  sealed: sealer.seal(JSON.stringify(grant), grantPurpose(channelId)),
  accessEndsAt: instantOf(grant.accessEndsAtMs),
  endsAt: instantOf(grant.endsAtMs),
});

const instantOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
