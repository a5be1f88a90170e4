import { Channel, type ChannelGrant } from '../../db/entities/channels.ts';
import { findGrant, lockAccess, type ChannelKey } from '../../db/repositories/channels.ts';
import type { GrantedChannel } from '../../db/repositories/grants.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { CheckAccount } from '../../networks/network-entry.ts';
import { NetworkError } from '../../networks/network.ts';
import type { Networks } from '../../networks/registry.ts';
import { outsideTurn } from '../turns.ts';
import { cleanName } from './connect-channel.ts';
import { currentGrant, currentGrantOr } from './current-grant.ts';
import { credentialsOf, openGrant, type CurrentGrant } from './grants.ts';
import { markAccessLost, markAccessRestored } from './mark-access.ts';
import type { AccountDeps } from './oauth-context.ts';

type CheckDeps = AccountDeps & { readonly checks: Networks['checks'] };

/**
 * - `connected`: the network accepted the credentials.
 * - `needs_reconnect`: it refused them.
 * - `unknown`: it gave no answer. The channel keeps its state.
 */
type Checked =
  | { readonly access: 'connected' }
  /** @param reason A sentence for the channel's owner. */
  | { readonly access: 'needs_reconnect' | 'unknown'; readonly reason: string };

/** In milliseconds. Each check counts against the network's rate limit, or costs the operator money. */
const minIntervalMs = 5 * 60_000;

/** @param at When the network was asked, in ISO 8601. */
type Answer = Checked & { readonly at: string };

/**
 * Runs `checkChannel` at most once in five minutes, also if it fails, and otherwise returns the last answer.
 *
 * @returns null when the channel does not exist.
 */
export async function throttledCheck(deps: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const now = deps.now();
  const own = { id: key.channelId, workspaceId: key.workspaceId };
  const isDue = { $lte: new Date(now.getTime() - minIntervalMs) };
  const claimed = await deps.orm.em
    .fork()
    .nativeUpdate(
      Channel,
      { ...own, disconnectedAt: null, $or: [{ checkedAt: null }, { checkedAt: isDue }] },
      { checkedAt: now },
    );
  if (claimed === 0) {
    return lastAnswer(deps, key);
  }

  return checkChannel(deps, key);
}

async function lastAnswer({ orm, now }: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const { workspaceId, channelId: id } = key;
  const channel = await orm.em.fork().findOne(Channel, { id, workspaceId, disconnectedAt: null });
  if (!channel) {
    return null;
  }

  const answer = channel.checkAnswer as Answer | null;
  const at = answer?.at ?? now().toISOString();
  if (channel.state === 'needs_reconnect') {
    // A post may have lost the access since the last check.
    const reason = channel.error ?? 'Connect the channel again.';
    return { access: 'needs_reconnect', reason, at };
  }

  const reason = 'A check is running, or failed. Try again in five minutes.';
  return answer ?? { access: 'unknown', reason, at };
}

type Owner = Awaited<ReturnType<CheckAccount>>;

type Connected = { readonly channel: Channel; readonly grant: ChannelGrant | null };

/**
 * Checks a channel's access with one cheap call to the network and stores the result. A lost access emits
 * `channel.needs_reconnect`, as a failed post does; a channel in that state that works again becomes connected.
 *
 * @returns null when the channel does not exist.
 */
export async function checkChannel(deps: CheckDeps, key: ChannelKey): Promise<Answer | null> {
  const at = deps.now().toISOString();
  const em = deps.orm.em.fork();
  const { workspaceId, channelId: id } = key;
  const channel = await em.findOne(Channel, { id, workspaceId, disconnectedAt: null });
  if (!channel) {
    return null;
  }

  const account = { channel, grant: await findGrant(em, key) };
  const { checked, displayName } = await outsideTurn(() => checkWithNetwork(deps, account));
  return deps.orm.em.fork().transactional(async (tx): Promise<Answer> => {
    const current = await lockAccess(tx, key);
    // The result is valid only for the credentials that were checked.
    if (current?.sealedCredentials !== channel.sealedCredentials) {
      return { access: 'unknown', reason: changedDuringCheck, at };
    }

    if (checked.access === 'connected') {
      await markAccessRestored(tx, deps, key, channel.sealedCredentials);
      current.displayName = displayName;
    } else if (checked.access === 'needs_reconnect') {
      await markAccessLost(tx, deps, key, checked.reason);
    }

    const answer = { ...checked, at };
    current.checkAnswer = answer;
    return answer;
  });
}

const changedDuringCheck = 'The account was connected again, or disconnected, during the check.';

async function checkWithNetwork(
  deps: CheckDeps,
  account: Connected,
): Promise<{ readonly checked: Checked; readonly displayName: string | null }> {
  const unnamed = (checked: Checked) => ({ checked, displayName: null });
  try {
    const { remoteId, displayName } = await checkWithGrant(deps, account);
    const reason = 'The stored access belongs to a different account. Connect the channel again.';
    return remoteId === account.channel.remoteId
      ? { checked: { access: 'connected' }, displayName: cleanName(displayName) }
      : unnamed({ access: 'needs_reconnect', reason });
  } catch (error) {
    if (!(error instanceof NetworkError)) {
      throw error;
    }

    return unnamed(
      error.code === 'access_lost'
        ? { access: 'needs_reconnect', reason: `${error.message} Connect the channel again.` }
        : { access: 'unknown', reason: error.message },
    );
  }
}

/**
 * @returns the account that the credentials open.
 * @throws NetworkError; `access_lost` only when no refresh is possible, or the refresh itself is refused.
 */
async function checkWithGrant(deps: CheckDeps, account: Connected): Promise<Owner> {
  const first = await openedGrant(deps, account);
  try {
    return await callCheck(deps, account.channel, first);
  } catch (error) {
    const isRefused = error instanceof NetworkError && error.code === 'access_lost';
    if (!isRefused || first === null || first.grant.refreshToken === null) {
      throw error;
    }

    const next = await currentGrant(deps, channelOf(account.channel), first.grant.accessToken);
    try {
      return await callCheck(deps, account.channel, next);
    } catch (again) {
      throw again instanceof NetworkError && again.code === 'access_lost'
        ? new NetworkError('network_unavailable', again.message, { accepted: 'no', cause: again })
        : again;
    }
  }
}

const channelOf = ({ id, workspaceId, platform, baseUrl, remoteId }: Channel): GrantedChannel => ({
  channelId: id,
  workspaceId,
  platform,
  baseUrl,
  remoteId,
});

async function openedGrant(
  deps: CheckDeps,
  { channel, grant: stored }: Connected,
): Promise<CurrentGrant | null> {
  if (!stored) {
    return null;
  }

  const grant = openGrant(deps.sealer, channel.id, stored.sealedGrant);
  return currentGrantOr(deps, channelOf(channel), { grant, refreshedAt: stored.refreshedAt });
}

async function callCheck(
  { checks, sealer, egress }: CheckDeps,
  { id, platform, baseUrl, remoteId, settings, sealedCredentials, sealedSession }: Channel,
  current: CurrentGrant | null,
): Promise<Owner> {
  const check = checks[platform];
  if (!check) {
    throw new NetworkError('internal', `This service cannot check an account of ${platform}.`, {
      accepted: 'no',
    });
  }

  const open = (sealed: string, purpose: string): Json => JSON.parse(sealer.open(sealed, purpose));
  return check({
    http: egress,
    baseUrl,
    remoteId,
    settings,
    credentials: current
      ? credentialsOf(current.grant)
      : open(sealedCredentials, credentialsPurpose(id)),
    session: sealedSession === null ? null : open(sealedSession, sessionPurpose(id)),
  });
}
