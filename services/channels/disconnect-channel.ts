import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { recordAudit, type Actor } from '../../db/audit.ts';
import type { PostPresentation } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { isContended, query } from '../../db/query.ts';
import { recordEvent } from '../../db/record-event.ts';
import {
  eraseChannel,
  lockPostsOf,
  removeChannelFromPosts,
} from '../../db/remove-channel-from-posts.ts';
import { AppError } from '../../domain/errors.ts';
import type { DeliveryToSync } from '../../domain/to-sync.ts';
import type { ServiceDeps } from '../deps.ts';
import type { ChannelKey } from './grants.ts';

type DisconnectDeps = PostPresentation & Pick<ServiceDeps, 'orm' | 'now'>;

/** Body of the response and of the event. */
export type Disconnected = {
  readonly channel: { readonly id: string; readonly platform: string; readonly handle: string };
  readonly removed_from: number;
  readonly became_drafts: { readonly count: number; readonly post_ids: readonly string[] };
};

/** Limit of draft ids in the response. */
export const mostNamed = 100;

/** Attempts, and the delay before the second in milliseconds; it grows with each attempt. */
const [maxAttempts, waitMs] = [8, 50];

/**
 * Disconnects a channel: removes it from its posts, erases its secrets and emits one event. The row stays for
 * published posts. Connecting the account again restores the channel, without the removed posts.
 *
 * After the response, only requests that are already under way can reach the account.
 *
 * @throws AppError `not_found`, also when the channel is already disconnected.
 */
export async function disconnectChannel(
  deps: DisconnectDeps,
  change: Actor & ChannelKey,
): Promise<{
  readonly disconnected: Disconnected & { readonly still_sending: number };
  readonly toSync: readonly DeliveryToSync[];
}> {
  const { disconnected, deliveryIds } = await whenUncontended(() =>
    deps.orm.em.fork().transactional((em) => disconnect(em, deps, change)),
  );
  const { workspaceId } = change;
  const toSync = deliveryIds.map((deliveryId) => ({ workspaceId, deliveryId, round: 1 }));
  return { disconnected, toSync };
}

/**
 * Follows the common lock order: posts, the channel, its grant. A transaction that creates or edits a post holds the
 * channel (`holdChannels`): it commits before this one, or finds the channel gone. Its posts are found by the second
 * `lockPostsOf`, which must not wait because it runs under the channel's lock.
 */
async function disconnect(em: Em, deps: DisconnectDeps, change: Actor & ChannelKey) {
  const { workspaceId, channelId } = change;
  const scope = { workspaceId, channelId };
  const now = deps.now();
  await findChannel(em, scope, false);
  await lockPostsOf(em, scope, true);
  const channel = await findChannel(em, scope, true);
  await lockPostsOf(em, scope, false);
  const { removedFrom, drafts, stillSending } = await removeChannelFromPosts(em, scope, {
    ...deps,
    now,
  });
  await eraseChannel(em, scope, now);
  await recordAudit(em, change, 'channel.disconnected', channelId);
  const eventData: Disconnected = {
    channel,
    removed_from: removedFrom,
    became_drafts: { count: drafts.length, post_ids: drafts.slice(0, mostNamed) },
  };
  const deliveryIds = await recordEvent(em, {
    workspaceId,
    channelId,
    type: 'channel.disconnected',
    data: eventData,
    byOutbox: true,
  });
  return { disconnected: { ...eventData, still_sending: stillSending }, deliveryIds };
}

/** @throws AppError `not_found` */
async function findChannel(
  em: Em,
  { workspaceId, channelId }: ChannelKey,
  isLocked: boolean,
): Promise<Disconnected['channel']> {
  const [channel] = await query(
    em,
    sql<Disconnected['channel']>`
      select id, platform, handle from channels
      where id = ${channelId} and workspace_id = ${workspaceId} and disconnected_at is null
      ${sql.raw(isLocked ? 'for update' : '')}`,
  );
  if (!channel) {
    throw new AppError('not_found', `There is no channel "${channelId}".`);
  }

  return channel;
}

async function whenUncontended<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isContended(error) || attempt === maxAttempts) {
        throw error;
      }

      await pause(attempt * waitMs);
    }
  }
}
