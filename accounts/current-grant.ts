import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { isDatabaseAway } from '../db/is-away.ts';
import type { Em, Orm } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { NetworkError } from '../networks/network.ts';
import type { Grant } from '../networks/oauth.ts';
import type { AccountDeps } from './deps.ts';
import { endsSoon, openGrant, replaceGrant, type ChannelKey } from './grants.ts';
import { isAtSandbox, oauthContext } from './oauth-context.ts';

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

/**
 * The grant of a channel with an access token that lasts, refreshed where it has to be.
 *
 * At most one refresh of a channel is under way at a time, over all workers: its row is locked from before the refresh
 * token is read until the new one is committed, since a network that takes each token once ends the whole grant when it
 * sees one again. Those who waited find the new token, and refresh nothing.
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

  const made = refreshed(deps, channel, refused).finally(() => inProcess.delete(key));
  inProcess.set(key, made);
  return made;
}

/** Those of a process who wait for the same share one connection to the database: fifty posts may be due at once. */
const underWay = new WeakMap<Orm, Map<string, Promise<Current>>>();

type Row = { readonly sealed: string; readonly refreshed_at: Date | null };

async function refreshed(
  deps: AccountDeps,
  channel: GrantedChannel,
  refused: string | null,
): Promise<Current> {
  let bought: Bought | null = null;
  try {
    const result = await deps.orm.em.fork().transactional(async (em) => {
      const row = await lockGrant(em, channel);
      const grant = openGrant(deps.sealer, channel.channelId, row.sealed);
      if (grant.accessToken !== refused && !endsSoon(grant, deps.now().getTime())) {
        return { grant, refreshedAt: row.refreshed_at };
      }

      try {
        bought = { before: row.sealed, grant: await buy(deps, channel, grant), at: deps.now() };
      } catch (error) {
        const usable = await noteFailure(em, deps, channel, { row, grant, refused }, error);
        return usable ? { grant: usable, refreshedAt: row.refreshed_at } : { error };
      }

      await replaceGrant(em, deps.sealer, channel, bought);
      return { grant: bought.grant, refreshedAt: bought.at };
    });
    if ('error' in result) {
      throw result.error; // Not before: what was noted of it is committed.
    }

    return result;
  } catch (error) {
    if (bought !== null && isDatabaseAway(error)) {
      return keepTrying(deps, channel, bought);
    }

    throw error;
  }
}

type Bought = { readonly before: string; readonly grant: Grant; readonly at: Date };

async function lockGrant(em: Em, { workspaceId, channelId }: ChannelKey): Promise<Row> {
  const [row] = await query(
    em,
    sql<Row>`select sealed_grant as sealed, refreshed_at from channel_grants
      where channel_id = ${channelId} and workspace_id = ${workspaceId} for update`,
  );
  if (!row) {
    throw new NetworkError('access_lost', 'The account was disconnected.', { taken: 'no' });
  }

  return row;
}

/** @throws NetworkError */
async function buy(deps: AccountDeps, channel: GrantedChannel, grant: Grant): Promise<Grant> {
  const { platform, baseUrl, remoteId } = channel;
  if (grant.refreshToken === null) {
    throw new NetworkError('access_lost', 'The access that the account gave has ended.', {
      taken: 'no',
    });
  }

  const oauth = await deps.oauth[platform]?.load();
  if (!oauth) {
    throw new Error(`This process knows no way to refresh a grant of "${platform}".`);
  }

  const context = oauthContext(deps, platform, isAtSandbox(deps, baseUrl));
  return oauth.refresh({ ...context, baseUrl, remoteId, grant });
}

/** Shorter than this, a token could end on its way, in milliseconds. */
const shortestMs = 60_000;

type Failed = { readonly row: Row; readonly grant: Grant; readonly refused: string | null };

/**
 * A refresh token that the network says is over is never sent again. Where the network just did not answer, the old access
 * token is used as long as it lasts.
 *
 * @returns the grant while its access token lasts, or null.
 */
async function noteFailure(
  em: Em,
  deps: AccountDeps,
  channel: GrantedChannel,
  { row, grant, refused }: Failed,
  error: unknown,
): Promise<Grant | null> {
  const isOver = error instanceof NetworkError && error.code === 'access_lost';
  if (isOver && grant.refreshToken !== null) {
    const ended = { ...grant, refreshToken: null };
    await replaceGrant(em, deps.sealer, channel, {
      before: row.sealed,
      grant: ended,
      at: deps.now(),
    });
    return null;
  }

  await query(
    em,
    sql`update channel_grants set failing_since = coalesce(failing_since, ${deps.now()})
      where channel_id = ${channel.channelId} and workspace_id = ${channel.workspaceId}`,
  );
  const lastsForMs = (grant.accessEndsAtMs ?? 0) - deps.now().getTime();
  return grant.accessToken !== refused && lastsForMs > shortestMs ? grant : null;
}

/** In milliseconds. */
const storeWaits = [250, 500, 1000, 2000, 4000, 8000];

/**
 * The network has handed out a new grant, and the database went away before it was committed. The old one may be worth
 * nothing by now, so this process holds on to the new one.
 */
async function keepTrying(
  deps: AccountDeps,
  channel: GrantedChannel,
  bought: Bought,
): Promise<Current> {
  for (const waitMs of storeWaits) {
    await sleep(waitMs);
    try {
      const em = deps.orm.em.fork();
      if (await replaceGrant(em, deps.sealer, channel, bought)) {
        return { grant: bought.grant, refreshedAt: bought.at };
      }

      // Its commit came through after all, or somebody connected the account anew.
      return await refreshed(deps, channel, null);
    } catch (error) {
      if (!isDatabaseAway(error)) {
        throw error;
      }
    }
  }

  throw new Error('A refreshed grant could not be stored: the database is away.');
}
