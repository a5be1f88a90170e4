import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelGrant } from '../../db/entities/channels.ts';
import type { Orm } from '../../db/orm.ts';
import { findGrant, type ChannelKey } from '../../db/repositories/channels.ts';
import { takeRefreshLease, type GrantedChannel } from '../../db/repositories/grants.ts';
import { NetworkError } from '../../networks/network.ts';
import { endsSoon, isStillUsable, openGrant, type CurrentGrant } from './grants.ts';
import type { AccountDeps } from './oauth-context.ts';
import { refreshAndStore, takeOverMs } from './refresh-grant.ts';

/** How long a post waits for a refresh while its current token is still usable, in milliseconds. */
const patienceMs = 3000;

/** Poll interval while another process refreshes, in milliseconds. */
const pollIntervalMs = 100;

/**
 * The channel's grant with a usable access token. One refresh of a channel runs at a time, over all workers.
 *
 * @param refused An access token that the network refused before its expiry. It is not used again.
 * @throws NetworkError `access_lost` when the grant has ended; the refresh's own error when no usable token is left.
 */
export function currentGrant(
  deps: AccountDeps,
  channel: GrantedChannel,
  refused: string | null = null,
): Promise<CurrentGrant> {
  const inProcess = underWay.get(deps.orm) ?? new Map<string, Promise<CurrentGrant>>();
  underWay.set(deps.orm, inProcess);
  const key = JSON.stringify([channel.channelId, refused]);
  const known = inProcess.get(key);
  if (known) {
    return known;
  }

  const made = findCurrent(deps, channel, refused).finally(() => inProcess.delete(key));
  inProcess.set(key, made);
  return made;
}

/** Concurrent callers in one process share one lookup: fifty posts may be due at the same time. */
const underWay = new WeakMap<Orm, Map<string, Promise<CurrentGrant>>>();

/** Resolves when this process has no refresh under way. An interrupted refresh may lose the channel's access. */
export async function untilRefreshed(orm: Orm): Promise<void> {
  await Promise.allSettled(underWay.get(orm)?.values() ?? []);
}

/**
 * Like `currentGrant` for a post, but falls back to the known token when the refresh is slow and the token is usable.
 */
export async function currentGrantOr(
  deps: AccountDeps,
  channel: GrantedChannel,
  known: CurrentGrant,
): Promise<CurrentGrant> {
  const nowMs = deps.now().getTime();
  if (!endsSoon(known.grant, nowMs)) {
    return known;
  }

  const current = currentGrant(deps, channel);
  if (!isStillUsable(known.grant, nowMs)) {
    return current;
  }

  const waited = new AbortController();
  const patience = sleep(patienceMs, known, { signal: waited.signal, ref: false });
  try {
    return await Promise.race([current, patience]);
  } finally {
    waited.abort();
    patience.catch(() => undefined);
    current.catch(() => undefined);
  }
}

async function findCurrent(
  deps: AccountDeps,
  channel: GrantedChannel,
  refused: string | null,
): Promise<CurrentGrant> {
  for (;;) {
    const stored = await readGrant(deps, channel);
    const { sealedGrant: sealed, refreshedAt } = stored;
    const grant = openGrant(deps.sealer, channel.channelId, sealed);
    const nowMs = deps.now().getTime();
    const isUsable = grant.accessToken !== refused && isStillUsable(grant, nowMs);
    if (isUsable && (!endsSoon(grant, nowMs) || grant.refreshToken === null)) {
      return { grant, refreshedAt };
    }

    if (grant.refreshToken === null) {
      const message = 'The access that the account gave has ended.';
      throw new NetworkError('access_lost', message, { accepted: 'no' });
    }

    const by = randomUUID();
    if (await takeRefreshLease(deps.orm.em.fork(), { ...channel, sealed, by })) {
      // A refresh began and did not report its end.
      if (stored.refreshingUntil && (await isReplaced(deps, channel, sealed))) {
        continue;
      }

      const old = isUsable ? { grant, refreshedAt } : null;
      const renewed = await refreshAndStore(deps, channel, { sealed, grant, old, by });
      if (renewed) {
        return renewed;
      }
    } else if (isUsable) {
      return { grant, refreshedAt }; // Another process is refreshing, or the last refresh failed a moment ago.
    } else {
      await sleep(pollIntervalMs);
    }
  }
}

/** Waits for the previous lease holder, which may still store its new grant. */
async function isReplaced(deps: AccountDeps, channel: ChannelKey, sealed: string) {
  await sleep(takeOverMs);
  return (await readGrant(deps, channel)).sealedGrant !== sealed;
}

async function readGrant({ orm }: AccountDeps, channel: ChannelKey): Promise<ChannelGrant> {
  const grant = await findGrant(orm.em.fork(), channel);
  if (!grant) {
    throw new NetworkError('access_lost', 'The account was disconnected.', { accepted: 'no' });
  }

  return grant;
}
