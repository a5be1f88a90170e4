import { LockMode } from '@mikro-orm/core';
import { Channel, ChannelGrant, ConnectLink } from '../entities/channels.ts';
import type { Em } from '../orm.ts';

/** Locks all channels of a workspace, also disconnected ones, until the transaction ends. */
export const lockChannels = (em: Em, workspaceId: string): Promise<unknown> =>
  em.find(
    Channel,
    { workspaceId },
    { fields: ['id'], orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );

/**
 * Disconnects channels and erases their secrets; their rows stay for the posts that refer to them. The caller has
 * locked them. Grants and links follow, as when an account is connected. An open link can no longer connect them again.
 *
 * @param channelId One channel; without it all of the workspace, and every link.
 */
export async function eraseChannels(
  em: Em,
  workspaceId: string,
  at: Date,
  channelId?: string,
): Promise<void> {
  const id = channelId === undefined ? {} : { id: channelId };
  const ofChannel = channelId === undefined ? {} : { channelId };
  await em.nativeUpdate(
    Channel,
    { workspaceId, ...id, disconnectedAt: null },
    {
      disconnectedAt: at,
      state: 'needs_reconnect',
      error: null,
      options: null,
      sealedCredentials: '',
      sealedSession: null,
      updatedAt: at,
    },
  );
  await em.nativeDelete(ChannelGrant, { workspaceId, ...ofChannel });
  await em.nativeDelete(ConnectLink, { workspaceId, ...ofChannel });
}
