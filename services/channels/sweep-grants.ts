import { ChannelGrant } from '../../db/entities/channels.ts';
import { recordEvent } from '../../db/record-event.ts';
import { findGrant, lockAccess } from '../../db/repositories/channels.ts';
import {
  findEndingGrants,
  findGrantsToRefresh,
  lockEndingGrant,
  type GrantedChannel,
} from '../../db/repositories/grants.ts';
import { warnBeforeMs } from '../../domain/statuses.ts';
import { NetworkError } from '../../networks/network.ts';
import { describeError } from '../../runtime/logger.ts';
import { currentGrant } from './current-grant.ts';
import { openGrant } from './grants.ts';
import { markAccessLost } from './mark-access.ts';
import type { AccountDeps } from './oauth-context.ts';

/** Limits per sweep, which runs every minute. */
const [mostWarned, mostRefreshed] = [200, 20];

/**
 * Keeps accounts connected, and warns owners before they have to reconnect. Refreshes a grant daily in its last week,
 * since some networks then extend it; after an idle month, since networks end unused grants; and with an expired token
 * when a post is due within a day, so that the owner learns of a lost access before that post fails.
 */
export async function sweepGrants(deps: AccountDeps) {
  const refreshed = await refreshSome(deps);
  let [warned, ended] = [0, 0];
  const now = deps.now();
  const ending = await findEndingGrants(deps.orm.em.fork(), now, warnedUntil(now), mostWarned);
  for (const channel of ending) {
    const outcome = await warnOrEndAccess(deps, channel);
    warned += outcome === 'warned' ? 1 : 0;
    ended += outcome === 'ended' ? 1 : 0;
  }

  return { refreshed, warned, ended };
}

async function refreshSome(deps: AccountDeps): Promise<number> {
  const now = deps.now();
  const em = deps.orm.em.fork();
  const grants = await findGrantsToRefresh(em, now, warnedUntil(now), mostRefreshed);
  // At the same time, since one refresh may take 45 s when a server hangs.
  const outcomes = await Promise.all(grants.map((grant) => refresh(deps, grant)));
  return outcomes.filter(Boolean).length;
}

const warnedUntil = (now: Date): Date => new Date(now.getTime() + warnBeforeMs);

async function refresh(
  deps: AccountDeps,
  { sealed, ...channel }: GrantedChannel & { readonly sealed: string },
): Promise<boolean> {
  try {
    const grant = openGrant(deps.sealer, channel.channelId, sealed);
    if (grant.refreshToken === null) {
      return false;
    }

    await currentGrant(deps, channel, grant.accessToken);
    return true;
  } catch (error) {
    if (error instanceof NetworkError && error.code === 'access_lost') {
      await endAccess(deps, channel, error.message);
    } else {
      const where = { network: channel.platform, channel: channel.channelId };
      deps.log.info({ ...where, error: describeError(error) }, 'grant not refreshed');
    }

    return false;
  }
}

/** Does nothing when the account was reconnected meanwhile: that grant can be refreshed. */
const endAccess = (deps: AccountDeps, channel: GrantedChannel, message: string): Promise<unknown> =>
  deps.orm.em.fork().transactional(async (em) => {
    await lockAccess(em, channel); // The lock order of a connection.
    const grant = await findGrant(em, channel);
    if (
      grant &&
      openGrant(deps.sealer, channel.channelId, grant.sealedGrant).refreshToken === null
    ) {
      await markAccessLost(em, deps, channel, `${message} Connect the channel again.`);
    }
  });

const warnOrEndAccess = (
  deps: AccountDeps,
  channel: GrantedChannel,
): Promise<'warned' | 'ended' | null> =>
  deps.orm.em.fork().transactional(async (em) => {
    const now = deps.now();
    const found = await lockEndingGrant(em, channel, now);
    if (!found) {
      return null;
    }

    const { channelId, workspaceId } = channel;
    const { platform, handle, endsAt } = found;
    if (endsAt <= now) {
      const message = `The access that the account gave has ended, at ${endsAt.toISOString()}. Connect the channel again.`;
      await markAccessLost(em, deps, channel, message);
      return 'ended';
    }

    await em.nativeUpdate(ChannelGrant, { channelId, workspaceId }, { warnedOf: endsAt });
    await recordEvent(em, {
      workspaceId,
      channelId,
      type: 'channel.at_risk',
      data: {
        channel: { id: channelId, platform, handle, expires_at: endsAt.toISOString() },
      },
      byOutbox: true,
    });
    return 'warned';
  });
