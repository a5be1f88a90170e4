import { ChannelGrant } from '../../db/entities/channels.ts';
import type { Em } from '../../db/orm.ts';
import type { ChannelKey } from '../../db/repositories/channels.ts';
import { grantPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import { putGrant } from '../../db/repositories/grants.ts';
import { warnBeforeMs } from '../../domain/statuses.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import type { Sealer } from '../../runtime/secrets.ts';

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
    await em.nativeDelete(ChannelGrant, { workspaceId, channelId });
  } else {
    await putGrant(em, { workspaceId, channelId }, rowOf(sealer, channelId, grant));
  }
}

/**
 * Minimum extension of a grant before its owner is warned again, in milliseconds. A network that reports the seconds
 * left gives a slightly different end at each refresh.
 */
const putOffMs = 24 * 3_600_000;

/** Replaces the sealed grant `before`, unless another one was stored meanwhile. @returns whether it did. */
export async function replaceGrant(
  em: Em,
  sealer: Sealer,
  { workspaceId, channelId }: ChannelKey,
  { before, grant, at }: { readonly before: string; readonly grant: Grant; readonly at: Date },
): Promise<boolean> {
  const fresh = rowOf(sealer, channelId, grant);
  const farMs = at.getTime() + warnBeforeMs + putOffMs;
  const isExtended = fresh.endsAt === null || fresh.endsAt.getTime() > farMs;
  const replaced = await em.nativeUpdate(
    ChannelGrant,
    { channelId, workspaceId, sealedGrant: before },
    {
      ...fresh,
      ...(isExtended ? { warnedOf: null } : {}),
      failingSince: null,
      refreshedAt: at,
      refreshingUntil: null,
    },
  );
  return replaced > 0;
}

const rowOf = (sealer: Sealer, channelId: string, grant: Grant) => ({
  sealedGrant: sealer.seal(JSON.stringify(grant), grantPurpose(channelId)),
  accessEndsAt: instantOf(grant.accessEndsAtMs),
  endsAt: instantOf(grant.endsAtMs),
});

const instantOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
