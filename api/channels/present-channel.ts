import { isAtSandbox } from '../../accounts/oauth-context.ts';
import type { Channel } from '../../db/entities/channel.ts';
import { ChannelGrant } from '../../db/entities/channel-grant.ts';
import type { Em } from '../../db/orm.ts';
import { channelAccessOf } from '../../domain/access.ts';
import type { Value } from '../../domain/json-schema.ts';
import type { ApiDeps } from '../deps.ts';
import type { channelSchema } from './schemas.ts';

export type ChannelView = Value<typeof channelSchema>;

type Deps = Pick<ApiDeps, 'networks' | 'sandboxUrl' | 'now'>;

/** Builds the API's view of channels, with the end of their access. */
export async function presentChannels(
  deps: Deps,
  em: Em,
  workspaceId: string,
  channels: readonly Channel[],
): Promise<ChannelView[]> {
  const grants = await em.find(ChannelGrant, {
    workspaceId,
    channelId: { $in: channels.map(({ id }) => id) },
  });
  const ends = new Map(grants.map(({ channelId, endsAt }) => [channelId, endsAt]));
  return channels.map((channel) => present(deps, channel, ends.get(channel.id) ?? null));
}

export async function presentChannel(deps: Deps, em: Em, channel: Channel): Promise<ChannelView> {
  const grant = await em.findOne(ChannelGrant, {
    workspaceId: channel.workspaceId,
    channelId: channel.id,
  });
  return present(deps, channel, grant?.endsAt ?? null);
}

const present = (deps: Deps, channel: Channel, endsAt: Date | null): ChannelView => {
  const { id, platform, handle, displayName, error, options, createdAt } = channel;
  const { state, expiresAt } = channelAccessOf(channel.state, endsAt, deps.now());
  return {
    id,
    platform,
    handle,
    display_name: displayName,
    profile_url: deps.networks.profileUrls[platform]?.(channel) ?? null,
    sandbox: isAtSandbox(deps, channel.baseUrl),
    state,
    error,
    expires_at: expiresAt?.toISOString() ?? null,
    options: options ?? {},
    created_at: createdAt.toISOString(),
  };
};
