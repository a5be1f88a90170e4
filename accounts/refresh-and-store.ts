import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { query } from '../db/query.ts';
import { NetworkError } from '../networks/network.ts';
import type { Grant } from '../networks/oauth/contract.ts';
import { describeError } from '../runtime/logger.ts';
import type { AccountDeps } from './deps.ts';
import { replaceGrant, type CurrentGrant, type GrantedChannel } from './grants.ts';
import { markAccessLost } from './mark-access.ts';
import { isAtSandbox, oauthContext } from './oauth-context.ts';
import { releaseRefreshLease, keepRefreshLease, storeWaitMs } from './refresh-lease.ts';

export type ToRefresh = {
  readonly sealed: string;
  readonly grant: Grant;
  /** The current grant, when its access token is usable without the refresh. */
  readonly old: CurrentGrant | null;
  /** Id of the refresh that holds the lease. */
  readonly by: string;
};

/**
 * Refreshes the grant and stores the result. The caller holds the lease.
 *
 * @returns the grant to use; null when another grant was stored meanwhile, by a reconnect.
 * @throws NetworkError
 */
export async function refreshAndStore(
  deps: AccountDeps,
  channel: GrantedChannel,
  { sealed, grant, old, by }: ToRefresh,
): Promise<CurrentGrant | null> {
  const turn = { ...channel, sealed, by };
  const stopKeeping = keepRefreshLease(deps, turn);
  try {
    const fresh = await requestNewGrant(deps, channel, grant);
    return await storeNewGrant(deps, channel, sealed, fresh);
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error;
    }

    const isOver = error.code === 'access_lost';
    if (isOver && !(await storeEnd(deps, channel, { sealed, grant }, error))) {
      return null;
    }

    if (!isOver) {
      await releaseRefreshLease(deps, turn, { pauses: old !== null });
    }

    if (!old) {
      throw error;
    }

    return old;
  } finally {
    stopKeeping();
  }
}

/**
 * Drops a refresh token that the network has ended, so that it is never sent again, and notifies the owner in the same
 * transaction: the caller may be killed before it reports, or its post may be cancelled. Posts still use the old
 * access token until it expires.
 *
 * @returns whether the channel still had this grant.
 */
const storeEnd = (
  deps: AccountDeps,
  channel: GrantedChannel,
  { sealed: before, grant }: Pick<ToRefresh, 'sealed' | 'grant'>,
  { message }: NetworkError,
): Promise<boolean> =>
  deps.orm.em.fork().transactional(async (em) => {
    await query(
      em, // Channel first: the lock order of a reconnect.
      sql`select id from channels where id = ${channel.channelId} and workspace_id = ${channel.workspaceId}
        for no key update`,
    );
    const ended = { before, grant: { ...grant, refreshToken: null }, at: deps.now() };
    const isOurs = await replaceGrant(em, deps.sealer, channel, ended);
    if (isOurs) {
      await markAccessLost(em, deps, channel, `${message} Connect the channel again.`, 'outbox');
    }

    return isOurs;
  });

/** Limit for all requests of one refresh, in milliseconds. */
const refreshMs = 45_000;

/**
 * @throws NetworkError that applies to this channel only: the token endpoint may be on another server than the
 * publishing one, and other accounts there may have usable tokens.
 */
async function requestNewGrant(
  deps: AccountDeps,
  channel: GrantedChannel,
  grant: Grant,
): Promise<Grant> {
  const { platform, baseUrl, remoteId } = channel;
  const oauth = await deps.oauth[platform]?.load();
  if (!oauth) {
    throw new NetworkError(
      'internal',
      `This service has no way to refresh access to ${platform}.`,
      {
        accepted: 'no',
      },
    );
  }

  const context = oauthContext(deps, platform, isAtSandbox(deps, baseUrl));
  const signal = AbortSignal.timeout(refreshMs);
  try {
    return await oauth.refresh({ ...context, signal, baseUrl, remoteId, grant });
  } catch (error) {
    throw error instanceof NetworkError
      ? new NetworkError(error.code, error.message, {
          accepted: 'no',
          retryAtMs: error.retryAtMs,
          lacksToken: true,
          cause: error,
        })
      : error;
  }
}

/** How long a new grant is held while the database refuses it, in milliseconds. */
const storeForMs = 10 * 60_000;

/**
 * Stores a new grant and retries while the database is unavailable. The network may already have ended the old grant:
 * another worker that reaches the database first would send the old refresh token.
 *
 * @throws the database's error after `storeForMs`.
 */
async function storeNewGrant(
  deps: AccountDeps,
  channel: GrantedChannel,
  before: string,
  grant: Grant,
): Promise<CurrentGrant | null> {
  const at = deps.now();
  const giveUpAtMs = performance.now() + storeForMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const em = deps.orm.em.fork();
      const isStored = await replaceGrant(em, deps.sealer, channel, { before, grant, at });
      // Otherwise an earlier commit succeeded without a response, or the account was reconnected.
      return isStored ? { grant, refreshedAt: at } : null;
    } catch (error) {
      if (performance.now() > giveUpAtMs) {
        throw error;
      }

      if (attempt === 1) {
        const { channelId, platform } = channel;
        const fields = { channelId, platform, error: describeError(error) };
        deps.log.warn(fields, 'refreshed grant not stored, retrying');
      }

      await sleep(storeWaitMs);
    }
  }
}
