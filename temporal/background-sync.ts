import type { Client } from '@temporalio/client';
import type { Em, Orm } from '../db/orm.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { startRefresh, type PostMetricsRequest } from './start-refresh.ts';
import { syncDelivery, type DeliveryToSync } from './sync-delivery.ts';
import { syncPost, type PostToSync } from './sync-post.ts';

/** How many syncs run at once; a row beyond waits for the relay, which needs no memory. */
const maxInFlight = 100;

export type BackgroundSync = {
  /** Returns at once. The relay repeats what fails. */
  readonly syncPost: (post: PostToSync) => void;
  /** The same for a delivery that was replayed. */
  readonly syncDelivery: (delivery: DeliveryToSync) => void;
  /** Starts the refresh of a post's metrics; the schedule comes to what fails. */
  readonly refreshPost: (request: PostMetricsRequest) => void;
  /** Resolves when nothing is in flight. */
  readonly drain: () => Promise<void>;
};

/** Syncs committed rows with Temporal while the caller already has its answer. */
export function backgroundSync(client: Client, orm: Orm, log: Logger): BackgroundSync {
  const inFlight = new Set<Promise<void>>();
  const begin = (row: object, sync: (em: Em) => Promise<void>): void => {
    if (inFlight.size >= maxInFlight) {
      return;
    }

    const syncing = sync(orm.em.fork())
      .catch((error: unknown) => {
        const why = describeError(error);
        log.warn({ ...row, error: why }, 'left to the relay: Temporal did not take it');
      })
      .finally(() => inFlight.delete(syncing));
    inFlight.add(syncing);
  };
  return {
    syncPost: (post) => begin({ post: post.postId }, (em) => syncPost(client, em, post, log)),
    syncDelivery: (delivery) =>
      begin({ delivery: delivery.deliveryId }, (em) => syncDelivery(client, em, delivery, log)),
    refreshPost: (request) =>
      begin({ metricsOf: request.postId }, () => startRefresh(client, request, log)),
    drain: async () => {
      await Promise.all(inFlight);
    },
  };
}
