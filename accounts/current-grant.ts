import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Orm } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { NetworkError } from '../networks/network.ts';
import type { AccountDeps } from './deps.ts';
import {
  endsSoon,
  lasts,
  openGrant,
  type ChannelKey,
  type Current,
  type GrantedChannel,
} from './grants.ts';
import { refreshAndStore } from './refresh-and-store.ts';
import { takeOverMs, takeTurn } from './refresh-turn.ts';

/** How long a post waits for a fresh token while the one that it has can still be used, in milliseconds. */
const patienceMs = 3000;

/** How long a process that waits for another one's refresh waits between two looks, in milliseconds. */
const lookMs = 100;

/**
 * The grant of a channel with an access token that lasts, refreshed where it has to be.
 *
 * At most one refresh of a channel is under way at a time, over all workers (`refresh-turn.ts`). Those who waited find the
 * new token, and refresh nothing.
 *
 * @param refused An access token that the network refused, though it should have lasted: it is not used again.
 * @throws NetworkError `access_lost` when the network says that the grant is over, or it is and cannot be refreshed;
 *   otherwise whatever kept the network from answering, where there is no token left that lasts.
 */
export function currentGrant(
  deps: AccountDeps,
  channel: GrantedChannel,
  refused: string | null = null,
): Promise<Current> {
  const inProcess = underWay.get(deps.orm) ?? new Map<string, Promise<Current>>();
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

/** Those of a process who wait for the same look for it once: fifty posts may be due at the same time. */
const underWay = new WeakMap<Orm, Map<string, Promise<Current>>>();

/** Resolves when no refresh of this process is under way: one that is cut off may cost a channel its access. */
export async function untilRefreshed(orm: Orm): Promise<void> {
  await Promise.allSettled(underWay.get(orm)?.values() ?? []);
}

/** The same for a post: it does not wait for a network that is slow to refresh as long as the known token can be used. */
export async function currentGrantOr(
  deps: AccountDeps,
  channel: GrantedChannel,
  known: Current,
): Promise<Current> {
  const nowMs = deps.now().getTime();
  if (!endsSoon(known.grant, nowMs)) {
    return known;
  }

  const current = currentGrant(deps, channel);
  if (!lasts(known.grant, nowMs)) {
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
): Promise<Current> {
  for (;;) {
    const { sealed, refreshedAt, isBegun } = await readGrant(deps, channel);
    const grant = openGrant(deps.sealer, channel.channelId, sealed);
    const nowMs = deps.now().getTime();
    const isUsable = grant.accessToken !== refused && lasts(grant, nowMs);
    if (isUsable && (!endsSoon(grant, nowMs) || grant.refreshToken === null)) {
      return { grant, refreshedAt };
    }

    if (grant.refreshToken === null) {
      const message = 'The access that the account gave has ended.';
      throw new NetworkError('access_lost', message, { taken: 'no' });
    }

    const by = randomUUID();
    if (await takeTurn(deps, { ...channel, sealed, by })) {
      if (isBegun && (await isReplaced(deps, channel, sealed))) {
        continue;
      }

      const old = isUsable ? { grant, refreshedAt } : null;
      const renewed = await refreshAndStore(deps, channel, { sealed, grant, old, by });
      if (renewed) {
        return renewed;
      }
    } else if (isUsable) {
      return { grant, refreshedAt }; // Another process is at it, or the network has just not answered.
    } else {
      await sleep(lookMs);
    }
  }
}

/** Whether who had the turn before stores a new grant after all. */
async function isReplaced(deps: AccountDeps, channel: ChannelKey, sealed: string) {
  await sleep(takeOverMs);
  return (await readGrant(deps, channel)).sealed !== sealed;
}

type ReadGrant = {
  readonly sealed: string;
  readonly refreshedAt: Date | null;
  /** Somebody began to refresh it, and has not said how that ended. */
  readonly isBegun: boolean;
};

async function readGrant(
  { orm }: AccountDeps,
  { workspaceId, channelId }: ChannelKey,
): Promise<ReadGrant> {
  const [row] = await query(
    orm.em.fork(),
    sql<{ sealed: string; refreshed_at: Date | null; is_begun: boolean }>`
      select sealed_grant as sealed, refreshed_at, refreshing_until is not null as is_begun from channel_grants
      where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
  );
  if (!row) {
    throw new NetworkError('access_lost', 'The account was disconnected.', { taken: 'no' });
  }

  return { sealed: row.sealed, refreshedAt: row.refreshed_at, isBegun: row.is_begun };
}
