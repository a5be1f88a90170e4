import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { query } from '../db/query.ts';
import { NetworkError } from '../networks/network.ts';
import type { Grant } from '../networks/oauth.ts';
import { describeError } from '../runtime/logger.ts';
import type { AccountDeps } from './deps.ts';
import { replaceGrant, type Current, type GrantedChannel } from './grants.ts';
import { loseAccess } from './lose-access.ts';
import { isAtSandbox, oauthContext } from './oauth-context.ts';
import { endTurn, keepTurn, storeWaitMs } from './refresh-turn.ts';

export type ToRefresh = {
  readonly sealed: string;
  readonly grant: Grant;
  /** The same, where its access token can be used if the network does not answer. */
  readonly old: Current | null;
  /** Whose turn it is. */
  readonly by: string;
};

/**
 * Buys a new grant and stores it in the place of the one that it comes from. The caller has the turn.
 *
 * @returns the grant to use; null when the channel has another one by now: it was connected again meanwhile.
 * @throws NetworkError
 */
export async function refreshAndStore(
  deps: AccountDeps,
  channel: GrantedChannel,
  { sealed, grant, old, by }: ToRefresh,
): Promise<Current | null> {
  const turn = { ...channel, sealed, by };
  const stopKeeping = keepTurn(deps, turn);
  try {
    const fresh = await buy(deps, channel, grant);
    return await store(deps, channel, sealed, fresh);
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error;
    }

    const isOver = error.code === 'access_lost';
    if (isOver && !(await storeEnd(deps, channel, { sealed, grant }, error))) {
      return null;
    }

    if (!isOver) {
      await endTurn(deps, turn, { pauses: old !== null });
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
 * A refresh token that the network says is over is never sent again, and the owner hears now: whoever asked for the access
 * may be killed before it tells, or ask for a post that is cancelled. While the old access token lasts posts still go out
 * with it.
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
      em, // First the channel, as whoever connects it anew locks them.
      sql`select id from channels where id = ${channel.channelId} and workspace_id = ${channel.workspaceId}
        for no key update`,
    );
    const ended = { before, grant: { ...grant, refreshToken: null }, at: deps.now() };
    const isOurs = await replaceGrant(em, deps.sealer, channel, ended);
    if (isOurs) {
      await loseAccess(em, deps, channel, `${message} Connect the channel again.`, 'outbox');
    }

    return isOurs;
  });

/** Over all requests of a refresh, in milliseconds. */
const refreshMs = 45_000;

/**
 * @throws NetworkError that says nothing of the server that publishes, and holds for this channel only: its token endpoint
 *   may stand on another one, and other accounts there may have tokens that last.
 */
async function buy(deps: AccountDeps, channel: GrantedChannel, grant: Grant): Promise<Grant> {
  const { platform, baseUrl, remoteId } = channel;
  const oauth = await deps.oauth[platform]?.load();
  if (!oauth) {
    throw new NetworkError(
      'internal',
      `This service has no way to refresh access to ${platform}.`,
      {
        taken: 'no',
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
          taken: 'no',
          retryAtMs: error.retryAtMs,
          lacksToken: true,
          cause: error,
        })
      : error;
  }
}

/** How long a new grant is kept for a database that takes it, in milliseconds. */
const storeForMs = 10 * 60_000;

/**
 * The network may have ended the old grant by handing out the new one, so this process holds on to it while the database is
 * away, or takes no writes, and looks often: the next worker that finds the database again would send the old refresh token.
 *
 * @throws the database's error when it took nothing for so long.
 */
async function store(
  deps: AccountDeps,
  channel: GrantedChannel,
  before: string,
  grant: Grant,
): Promise<Current | null> {
  const at = deps.now();
  const giveUpAtMs = performance.now() + storeForMs;
  for (let tries = 1; ; tries += 1) {
    try {
      const em = deps.orm.em.fork();
      const isStored = await replaceGrant(em, deps.sealer, channel, { before, grant, at });
      // If not, a commit whose answer was lost came through after all, or somebody connected the account anew.
      return isStored ? { grant, refreshedAt: at } : null;
    } catch (error) {
      if (performance.now() > giveUpAtMs) {
        throw error;
      }

      if (tries === 1) {
        const { channelId, platform } = channel;
        const fields = { channelId, platform, error: describeError(error) };
        deps.log.warn(fields, 'a refreshed grant cannot be stored; it is kept, and tried again');
      }

      await sleep(storeWaitMs);
    }
  }
}
