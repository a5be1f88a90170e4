import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Em, Orm } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { recordEvent } from '../db/record-event.ts';
import { eraseChannel, lockPostsOf, takeOffPosts } from '../db/take-off-posts.ts';
import { AppError } from '../domain/errors.ts';
import type { ChannelKey } from './grants.ts';
import type { PostPresentation } from '../db/post-view.ts';

export type DisconnectDeps = PostPresentation & {
  readonly orm: Orm;
  readonly now: () => Date;
  /** Syncs a delivery of the event with Temporal in the background; the relay repeats what fails. */
  readonly syncDelivery: (delivery: {
    readonly workspaceId: string;
    readonly deliveryId: string;
    readonly round: number;
  }) => void;
};

/** What the answer, and the event, say of it. */
export type Disconnected = {
  readonly channel: { readonly id: string; readonly platform: string; readonly handle: string };
  readonly removed_from: number;
  readonly became_drafts: { readonly count: number; readonly post_ids: readonly string[] };
};

/** So many posts are named that became drafts. */
export const mostNamed = 100;

/** Tries, and the wait before the second in milliseconds, which grows. */
const [mostTries, waitMs] = [8, 50];

/**
 * Takes an account away for good: its posts lose it, its secrets are erased, and one event says so. The row of the channel
 * stays for what was published there. Connecting the account again brings it back, without its posts.
 *
 * Nothing is sent to it from the answer on, but for requests that are under way at that moment.
 *
 * @throws AppError `not_found`, also of a channel that was disconnected before.
 */
export async function disconnectChannel(
  deps: DisconnectDeps,
  scope: ChannelKey,
): Promise<Disconnected & { readonly still_sending: number }> {
  const { answer, deliveryIds } = await whenUncontended(() =>
    deps.orm.em.fork().transactional((em) => disconnect(em, deps, scope)),
  );
  for (const deliveryId of deliveryIds) {
    deps.syncDelivery({ workspaceId: scope.workspaceId, deliveryId, round: 1 });
  }

  return answer;
}

/**
 * Locks are taken in the order that everybody keeps: posts, the channel, its grant. Who
 * makes or edits a post holds the channel (`holdChannels`) and comes before this or finds it gone; what came before is
 * seen by the second look, which waits for nobody, as it holds the channel.
 */
async function disconnect(em: Em, deps: DisconnectDeps, scope: ChannelKey) {
  const { workspaceId, channelId } = scope;
  const now = deps.now();
  await findChannel(em, scope, false);
  await lockPostsOf(em, scope, true);
  const channel = await findChannel(em, scope, true);
  await lockPostsOf(em, scope, false);
  const { removedFrom, drafts, stillSending } = await takeOffPosts(em, scope, { ...deps, now });
  await eraseChannel(em, scope, now);
  const told: Disconnected = {
    channel,
    removed_from: removedFrom,
    became_drafts: { count: drafts.length, post_ids: drafts.slice(0, mostNamed) },
  };
  const deliveryIds = await recordEvent(em, {
    workspaceId,
    channelId,
    type: 'channel.disconnected',
    data: told,
    byOutbox: true,
  });
  return { answer: { ...told, still_sending: stillSending }, deliveryIds };
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

/** PostgreSQL's `lock_not_available` and `deadlock_detected`: the transaction is undone, and tried again. */
const isContended = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01');

async function whenUncontended<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isContended(error) || tries === mostTries) {
        throw error;
      }

      await pause(tries * waitMs);
    }
  }
}
