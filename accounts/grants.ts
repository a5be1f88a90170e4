import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { grantPurpose } from '../db/sealing-purposes.ts';
import { warnBeforeMs } from '../domain/access.ts';
import type { Json } from '../domain/json-schema.ts';
import type { Grant } from '../networks/oauth.ts';
import type { Sealer } from '../runtime/secrets.ts';

export type ChannelKey = { readonly workspaceId: string; readonly channelId: string };

/** A channel that was connected in a browser. */
export type GrantedChannel = ChannelKey & {
  readonly platform: string;
  readonly baseUrl: string;
  readonly remoteId: string;
};

export type Current = {
  readonly grant: Grant;
  /** When the network handed it out in place of another one; null while it is the first. */
  readonly refreshedAt: Date | null;
};

/** An access token that ends sooner than this is replaced before it is used, in milliseconds: a try takes four minutes. */
const earlyMs = 10 * 60_000;

/** Whether the access token has to be replaced before it is used. One whose end the network does not tell is tried. */
export const endsSoon = ({ accessEndsAtMs }: Grant, nowMs: number): boolean =>
  accessEndsAtMs !== null && accessEndsAtMs - earlyMs <= nowMs;

/** Shorter than this, a token could end on its way, in milliseconds. */
const shortestMs = 60_000;

/** Whether the access token can still be used for a while, though it is to be replaced. */
export const lasts = ({ accessEndsAtMs }: Grant, nowMs: number): boolean =>
  accessEndsAtMs === null || accessEndsAtMs - shortestMs > nowMs;

/** What an adapter opens the account with. */
export const credentialsOf = ({ accessToken, data }: Grant): Json => ({
  accessToken,
  ...(data === undefined ? {} : { data }),
});

export const openGrant = (sealer: Sealer, channelId: string, sealed: string): Grant =>
  JSON.parse(sealer.open(sealed, grantPurpose(channelId))) as Grant;

/** Puts a new grant in the place of whatever a channel had. @param grant Null: it is opened by credentials of its own. */
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
 * An owner who was warned is warned again only when the end was put off by so much in between, in milliseconds: a network
 * that says how many seconds are left says another end at each refresh.
 */
const putOffMs = 24 * 3_600_000;

/**
 * Puts a refreshed grant in the place of the one that was refreshed, and of no other.
 *
 * @param before The sealed grant that it comes from.
 * @returns whether it was still there.
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

/** A grant as its row keeps it. */
const rowOf = (sealer: Sealer, channelId: string, grant: Grant) => ({
  sealed: sealer.seal(JSON.stringify(grant), grantPurpose(channelId)),
  accessEndsAt: instantOf(grant.accessEndsAtMs),
  endsAt: instantOf(grant.endsAtMs),
});

const instantOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
