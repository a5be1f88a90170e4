import { setTimeout as sleep } from 'node:timers/promises';
import { lockAccess } from '../../db/repositories/channels.ts';
import {
  releaseRefreshLease,
  renewRefreshLease,
  type GrantedChannel,
  type RefreshLease,
} from '../../db/repositories/grants.ts';
import { NetworkError } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth/contract.ts';
import { describeError } from '../../runtime/logger.ts';
import { replaceGrant, type CurrentGrant } from './grants.ts';
import { markAccessLost } from './mark-access.ts';
import { type AccountDeps, isAtSandbox, oauthContext } from './oauth-context.ts';

type ToRefresh = {
  readonly sealed: string;
  readonly grant: Grant;
  /** The current grant, when its access token is usable without the refresh. */
  readonly old: CurrentGrant | null;
  /** Id of the refresh that holds the lease. */
  readonly by: string;
};

/** Refreshes the grant, for the holder of the lease. @returns null when another grant was stored meanwhile, by a reconnect. */
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

    if (error.code === 'access_lost') {
      const store = () => storeEnd(deps, channel, { sealed, grant }, error);
      if (!(await untilStored(deps, channel, store))) {
        return null;
      }
    } else {
      const pause = old === null ? null : pauseMs;
      await releaseRefreshLease(deps.orm.em.fork(), turn, deps.now(), pause);
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
 * Drops a refresh token that the network has ended, and notifies the owner in the same transaction: the caller may be
 * killed before it reports. Posts use the old access token until it expires.
 */
const storeEnd = (
  deps: AccountDeps,
  channel: GrantedChannel,
  { sealed: before, grant }: Pick<ToRefresh, 'sealed' | 'grant'>,
  { message }: NetworkError,
): Promise<boolean> =>
  deps.orm.em.fork().transactional(async (em) => {
    await lockAccess(em, channel); // Channel first: the lock order of a reconnect.
    const ended = { before, grant: { ...grant, refreshToken: null }, at: deps.now() };
    const isOurs = await replaceGrant(em, deps.sealer, channel, ended);
    if (isOurs) {
      await markAccessLost(em, deps, channel, `${message} Connect the channel again.`);
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
    const message = `This service has no way to refresh access to ${platform}.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
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

/** Stores a new grant. @returns null when another grant was stored meanwhile. */
async function storeNewGrant(
  deps: AccountDeps,
  channel: GrantedChannel,
  before: string,
  grant: Grant,
): Promise<CurrentGrant | null> {
  const at = deps.now();
  const isStored = await untilStored(deps, channel, () =>
    replaceGrant(deps.orm.em.fork(), deps.sealer, channel, { before, grant, at }),
  );
  // Otherwise an earlier commit succeeded without a response, or the account was reconnected.
  return isStored ? { grant, refreshedAt: at } : null;
}

/** How long the result of a refresh is held while the database refuses it, in milliseconds. */
const storeForMs = 10 * 60_000;

/**
 * Stores the result of a refresh and retries while the database is unavailable. The network may already have ended the
 * old grant: another worker that reaches the database first would send the old refresh token.
 *
 * @throws the database's error after `storeForMs`.
 */
async function untilStored<T>(
  { log }: AccountDeps,
  { channelId, platform }: GrantedChannel,
  store: () => Promise<T>,
): Promise<T> {
  const giveUpAtMs = performance.now() + storeForMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store();
    } catch (error) {
      if (performance.now() > giveUpAtMs) {
        throw error;
      }

      if (attempt === 1) {
        const fields = { channelId, platform, error: describeError(error) };
        log.warn(fields, 'result of a refresh not stored, retrying');
      }

      await sleep(storeWaitMs);
    }
  }
}

/** Renewal interval in milliseconds; below a third of the lease. */
const renewMs = 5000;

/** Pause after a failed refresh while the old access token is usable, in milliseconds. */
const pauseMs = 30_000;

/** Delay between two attempts to store a new grant, in milliseconds. */
const storeWaitMs = 250;

/**
 * Delay before the refresh after taking over an expired lease, in milliseconds. The last holder may be alive, with a
 * new grant that it could not store while the database was away. One attempt to connect may take 3 s (`db/orm.ts`).
 */
export const takeOverMs = 4000;

/** Renews the lease until the returned function is called. */
function keepRefreshLease({ orm }: Pick<AccountDeps, 'orm'>, lease: RefreshLease): () => void {
  const timer = setInterval(() => {
    // Without the database no other process can take the lease.
    renewRefreshLease(orm.em.fork(), lease).catch(() => undefined);
  }, renewMs);
  return () => clearInterval(timer);
}
