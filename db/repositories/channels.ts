import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { AppError } from '../../domain/errors.ts';
import { isOpenChannel } from '../channel-status.ts';
import { Channel, ChannelGrant, ConnectLink } from '../entities/channels.ts';
import { hasOpenPart } from '../ledger/parts.ts';
import type { Em } from '../orm.ts';
import { dueAt, isOpenPost } from '../post-status.ts';
import { query, queryPlanned } from '../query.ts';

export type ChannelKey = { readonly workspaceId: string; readonly channelId: string };

export async function loadChannel(
  em: Em,
  { workspaceId, channelId: id }: ChannelKey,
  lockMode = LockMode.NONE,
): Promise<Channel> {
  const channel = await em.findOne(Channel, { id, workspaceId }, { lockMode });
  if (!channel) {
    throw channelNotFound(id);
  }

  if (channel.disconnectedAt) {
    const message = `The account of channel "${id}" was disconnected. Connect it again: POST /channels/connect.`;
    throw new AppError('not_found', message);
  }

  return channel;
}

export const channelNotFound = (id: string): AppError =>
  new AppError('not_found', `There is no channel "${id}".`);

/** Locks a channel, against sends too, until the transaction ends. */
export const lockChannel = (em: Em, key: ChannelKey): Promise<Channel> =>
  loadChannel(em, key, LockMode.PESSIMISTIC_WRITE);

/**
 * Locks a channel for a change of its access until the transaction ends. Posts may still refer to it. Taken before the
 * lock of its grant, as when an account is connected.
 *
 * @returns null when it is disconnected.
 */
export async function lockAccess(
  em: Em,
  { workspaceId, channelId: id }: ChannelKey,
): Promise<Channel | null> {
  await query(
    em,
    sql`select 1 from channels where id = ${id} and workspace_id = ${workspaceId} for no key update`,
  );
  return em.findOne(Channel, { id, workspaceId, disconnectedAt: null }, { refresh: true });
}

export const findGrant = (em: Em, { workspaceId, channelId }: ChannelKey) =>
  em.findOne(ChannelGrant, { workspaceId, channelId }, { refresh: true });

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
      sealedCredentials: '',
      sealedSession: null,
      updatedAt: at,
    },
  );
  await em.nativeDelete(ChannelGrant, { workspaceId, ...ofChannel });
  await em.nativeDelete(ConnectLink, { workspaceId, ...ofChannel });
}

/** Counts the posts that wait for a channel, and those with a request that may be under way. */
export async function countOpenPosts(em: Em, { workspaceId, channelId }: ChannelKey) {
  const isSending = sql`pc.status = 'publishing' and ${hasOpenPart}`;
  const [counts] = await queryPlanned(
    em,
    sql<{ scheduled: number; sending: number }>`
      select count(*) filter (where ${isOpenPost('p')} and not (${isSending}))::int as scheduled,
        count(*) filter (where ${isSending})::int as sending
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId}
        and ${isOpenChannel}`,
  );
  return counts ?? { scheduled: 0, sending: 0 };
}

/** Posts of which only the first are named, by due time. */
export type LostPosts = { readonly count: number; readonly postIds: readonly string[] };

/** Posts that failed on a channel after `since` because its access was lost; last those still being sent elsewhere. */
export async function findLostPosts(
  em: Em,
  { workspaceId, channelId }: ChannelKey,
  since: Date,
  most: number,
): Promise<LostPosts> {
  const rows = await queryPlanned(
    em,
    sql<{ id: string; count: number }>`
      select p.id, (count(*) over ())::int as count
      from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
      where pc.channel_id = ${channelId} and pc.workspace_id = ${workspaceId} and pc.status = 'failed'
        and pc.error_code = 'access_lost' and p.status in ('failed', 'publishing')
        and greatest(pc.tried_at, ${dueAt('p')}) > ${since}
      order by p.status = 'publishing', ${dueAt('p')}, p.id limit ${most}`,
  );
  return { count: rows[0]?.count ?? 0, postIds: rows.map(({ id }) => id) };
}
