import { disconnectChannel, type Disconnected } from '../accounts/disconnect-channel.ts';
import { Channel } from '../db/entities/channel.ts';
import { ChannelGrant } from '../db/entities/channel-grant.ts';
import { channelAccessOf } from '../domain/access.ts';
import { AppError } from '../domain/errors.ts';
import { isId } from '../domain/is-id.ts';
import type { CommandAnswer, CommandDeps } from './command.ts';
import { leaveToRelay, syncedSoon } from './posts/find-post.ts';
import { oneLine } from './posts/format.ts';
import { assertWorkspaceExists } from './workspaces.ts';

type Values = Readonly<Record<string, string>>;

/** Lists the accounts of a workspace, including disconnected ones. */
export async function listChannels(
  { em, now }: CommandDeps,
  { WORKSPACE_ID: workspaceId = '' }: Values,
): Promise<CommandAnswer> {
  await assertWorkspaceExists(em, workspaceId);
  const found = await em.find(
    Channel,
    { workspaceId },
    { orderBy: { createdAt: 'asc', id: 'asc' } },
  );
  const grants = await em.find(ChannelGrant, { workspaceId });
  const endOf = new Map(grants.map(({ channelId, endsAt }) => [channelId, endsAt]));
  const channels = found.map((channel) => shown(channel, endOf.get(channel.id) ?? null, now()));
  const lines = channels.map(({ id, platform, handle, url, state, expires_at: ends, error }) => {
    const until = state === 'at_risk' ? `, access ends ${ends}` : '';
    const line = `${id}  ${platform} ${oneLine(handle)} at ${url}: ${state}${until}`;
    return [line, oneLine(error ?? '')].filter(Boolean).join('  ');
  });
  return {
    text: lines.join('\n') || 'This workspace has no channel yet.',
    data: { workspace_id: workspaceId, channels },
  };
}

function shown(channel: Channel, endsAt: Date | null, now: Date) {
  const { id, platform, handle, baseUrl, error, disconnectedAt } = channel;
  const { state, expiresAt } = channelAccessOf(channel.state, endsAt, now);
  return {
    id,
    platform,
    handle,
    url: baseUrl,
    state: disconnectedAt === null ? state : 'disconnected',
    error,
    expires_at: expiresAt?.toISOString() ?? null,
    disconnected_at: disconnectedAt?.toISOString() ?? null,
  };
}

/** @throws AppError as the API's call does. */
export async function removeChannel(
  { orm, em, now, publicUrl, networks: { rules } }: CommandDeps,
  { CHANNEL_ID: channelId = '' }: Values,
): Promise<CommandAnswer> {
  const known = isId(channelId) ? await em.findOne(Channel, { id: channelId }) : null;
  if (!known || known.disconnectedAt) {
    throw new AppError(
      'not_found',
      `There is no connected channel "${channelId}"; "npm run admin -- channel list WORKSPACE_ID" shows the ids.`,
    );
  }

  const deps = { orm, now, publicUrl, rules, syncDelivery: leaveToRelay };
  const { workspaceId } = known;
  const answer = await disconnectChannel(deps, { workspaceId, channelId });
  return { text: textOf(answer), data: { workspace_id: workspaceId, ...answer } };
}

function textOf({
  channel: { id, platform, handle },
  removed_from: removedFrom,
  became_drafts: { count, post_ids: posts },
  still_sending: sending,
}: Disconnected & { readonly still_sending: number }): string {
  const named = posts.length > 0 ? `: ${posts.join(', ')}${count > posts.length ? ', …' : ''}` : '';
  return [
    `Channel ${id} (${oneLine(handle)} on ${platform}) is disconnected, and its secrets are erased.`,
    `Scheduled posts and drafts that lost it: ${removedFrom}. Scheduled posts that are drafts now: ${count}${named}.`,
    ...(sending > 0 ? [`Posts that are being sent to it at this moment: ${sending}.`] : []),
    syncedSoon,
  ].join('\n');
}
