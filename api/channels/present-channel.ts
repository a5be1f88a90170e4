import type { Channel } from '../../db/entities/channel.ts';
import { ChannelGrant } from '../../db/entities/channel-grant.ts';
import type { Em } from '../../db/orm.ts';
import { accessOf } from '../../domain/access.ts';
import type { Value } from '../../domain/json-schema.ts';
import type { channelSchema } from './schemas.ts';

export type ChannelView = Value<typeof channelSchema>;

/** Channels of a workspace as the API shows them, with how long their access lasts. */
export async function presentChannels(
  em: Em,
  workspaceId: string,
  channels: readonly Channel[],
  now: Date,
): Promise<ChannelView[]> {
  const grants = await em.find(ChannelGrant, {
    workspaceId,
    channelId: { $in: channels.map(({ id }) => id) },
  });
  const ends = new Map(grants.map(({ channelId, endsAt }) => [channelId, endsAt]));
  return channels.map((channel) => present(channel, ends.get(channel.id) ?? null, now));
}

export async function presentChannel(em: Em, channel: Channel, now: Date): Promise<ChannelView> {
  const grant = await em.findOne(ChannelGrant, {
    workspaceId: channel.workspaceId,
    channelId: channel.id,
  });
  return present(channel, grant?.endsAt ?? null, now);
}

const present = (channel: Channel, endsAt: Date | null, now: Date): ChannelView => {
  const { id, platform, handle, error, options, createdAt } = channel;
  const { state, expiresAt } = accessOf(channel.state, endsAt, now);
  return {
    id,
    platform,
    handle,
    state,
    error,
    expires_at: expiresAt?.toISOString() ?? null,
    options: options ?? {},
    created_at: createdAt.toISOString(),
  };
};
