import { sql } from 'kysely';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { isOpenChannel } from '../../db/channel-status.ts';
import { hasOpenPart } from '../../db/ledger/parts.ts';
import type { Em } from '../../db/orm.ts';
import { isOpenPost } from '../../db/post-status.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { recordEvent } from '../../db/record-event.ts';
import { AppError } from '../../domain/errors.ts';
import type { DeliveryToSync } from '../../domain/to-sync.ts';
import type { ServiceDeps } from '../deps.ts';
import type { ChannelKey } from './grants.ts';

/** Body of the response and of the event. */
export type Disconnected = {
  readonly channel: { readonly id: string; readonly platform: string; readonly handle: string };
  /** Posts that fail on the channel at their time, unless the account is connected again before. */
  readonly scheduled_posts: number;
};

/**
 * Disconnects a channel: erases its secrets and emits one event. Its posts keep it. Those that are to be sent fail there
 * at their time, unless the account was connected again.
 *
 * After the response, only requests that are already under way can reach the account: each intent to send holds the
 * channel, so it commits before this and is counted, or finds the channel disconnected.
 *
 * @throws AppError `not_found`, also when the channel is already disconnected.
 */
export async function disconnectChannel(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  change: Actor & ChannelKey,
): Promise<{
  readonly disconnected: Disconnected & { readonly still_sending: number };
  readonly toSync: readonly DeliveryToSync[];
}> {
  const { workspaceId, channelId } = change;
  return orm.em.fork().transactional(async (em) => {
    const channel = await lockChannel(em, change);
    const { scheduled, sending } = await countPosts(em, change);
    await eraseChannel(em, change, now());
    await recordAudit(em, change, 'channel.disconnected', channelId);
    const data: Disconnected = { channel, scheduled_posts: scheduled };
    const type = 'channel.disconnected';
    const event = { workspaceId, channelId, type, data, byOutbox: true } as const;
    const deliveryIds = await recordEvent(em, event);
    return {
      disconnected: { ...data, still_sending: sending },
      toSync: deliveryIds.map((deliveryId) => ({ workspaceId, deliveryId, round: 1 })),
    };
  });
}

/** @throws AppError `not_found` */
async function lockChannel(
  em: Em,
  { workspaceId, channelId }: ChannelKey,
): Promise<Disconnected['channel']> {
  const [channel] = await query(
    em,
    sql<Disconnected['channel']>`
      select id, platform, handle from channels
      where id = ${channelId} and workspace_id = ${workspaceId} and disconnected_at is null for update`,
  );
  if (!channel) {
    throw new AppError('not_found', `There is no channel "${channelId}".`);
  }

  return channel;
}

/** Counts the posts that wait for the channel, and those with a request that may be under way. */
async function countPosts(em: Em, { workspaceId, channelId }: ChannelKey) {
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

async function eraseChannel(
  em: Em,
  { workspaceId, channelId }: ChannelKey,
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update channels set disconnected_at = ${now}, state = 'needs_reconnect', error = null,
        sealed_credentials = '', sealed_session = null, updated_at = ${now}
      where id = ${channelId} and workspace_id = ${workspaceId}`,
  );
  await query(
    em,
    sql`delete from channel_grants where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
  );
  // Lock order as when a link is redeemed: after the channel. An existing link can no longer reconnect the account.
  await query(
    em,
    sql`delete from connect_links where channel_id = ${channelId} and workspace_id = ${workspaceId}`,
  );
}
