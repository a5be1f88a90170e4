import { Channel, ChannelGrant } from '../../db/entities/channels.ts';
import type { Em } from '../../db/orm.ts';
import { findGrant, loadChannel } from '../../db/repositories/channels.ts';
import type { ServiceDeps } from '../deps.ts';

/** A connected channel, and when its account's access ends: null when no end is known. */
export type FoundChannel = { readonly channel: Channel; readonly accessEndsAt: Date | null };

export async function listChannels(
  { orm }: Pick<ServiceDeps, 'orm'>,
  workspaceId: string,
): Promise<FoundChannel[]> {
  const em = orm.em.fork();
  const channels = await em.find(
    Channel,
    { workspaceId, disconnectedAt: null },
    { orderBy: { createdAt: 'asc', id: 'asc' } },
  );
  const grants = await em.find(ChannelGrant, {
    workspaceId,
    channelId: { $in: channels.map(({ id }) => id) },
  });
  const ends = new Map(grants.map(({ channelId, endsAt }) => [channelId, endsAt]));
  return channels.map((channel) => ({ channel, accessEndsAt: ends.get(channel.id) ?? null }));
}

export async function findChannel(em: Em, workspaceId: string, id: string): Promise<FoundChannel> {
  return withAccess(em, await loadChannel(em, { workspaceId, channelId: id }));
}

export async function withAccess(em: Em, channel: Channel): Promise<FoundChannel> {
  const { id: channelId, workspaceId } = channel;
  const grant = await findGrant(em, { workspaceId, channelId });
  return { channel, accessEndsAt: grant?.endsAt ?? null };
}
