import type { Em } from '../../db/orm.ts';
import { recordEvent } from '../../db/record-event.ts';
import { findGrant, lockAccess, type ChannelKey } from '../../db/repositories/channels.ts';
import { openGrant } from './grants.ts';
import type { AccountDeps } from './oauth-context.ts';

/**
 * Marks the channel as `needs_reconnect`, with one event however many posts run into it. Runs in the transaction that
 * ends the post's channel, so that an attempt after a crash finds both or neither.
 */
export async function markAccessLost(
  em: Em,
  { now }: Pick<AccountDeps, 'now'>,
  key: ChannelKey,
  error: string,
): Promise<void> {
  const channel = await lockAccess(em, key);
  if (channel?.state !== 'connected') {
    return;
  }

  em.assign(channel, { state: 'needs_reconnect', error, sealedSession: null, updatedAt: now() });
  const { id, workspaceId, platform, handle } = channel;
  await recordEvent(em, {
    workspaceId,
    channelId: id,
    type: 'channel.needs_reconnect',
    data: { channel: { id, platform, handle, error } },
    byOutbox: true,
  });
}

/**
 * Marks a channel as connected again, unless the account was reconnected meanwhile, or only the last access token of an
 * ended grant still works. @param sealedCredentials The ones that the network accepted.
 */
export async function markAccessRestored(
  em: Em,
  { now, sealer }: Pick<AccountDeps, 'now' | 'sealer'>,
  key: ChannelKey,
  sealedCredentials: string,
): Promise<void> {
  const channel = await lockAccess(em, key);
  if (channel?.sealedCredentials !== sealedCredentials || channel.state === 'connected') {
    return;
  }

  const stored = await findGrant(em, key);
  const grant = stored && openGrant(sealer, key.channelId, stored.sealedGrant);
  const isOver = grant?.refreshToken === null && grant.endsAtMs !== grant.accessEndsAtMs;
  if (!isOver) {
    em.assign(channel, { state: 'connected', error: null, updatedAt: now() });
  }
}
