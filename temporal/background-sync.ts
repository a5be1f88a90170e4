import type { Client } from '@temporalio/client';
import type { Orm } from '../db/orm.ts';
import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';
import { syncPost, type PostToSync } from './sync-post.ts';

/** How many posts are told of at once; what comes beyond waits for the relay, which needs no memory. */
const maxInFlight = 100;

export type BackgroundSync = {
  /** Returns at once. Whatever fails is made up for by the relay. */
  readonly tell: (post: PostToSync) => void;
  /** Resolves when nothing is in flight. */
  readonly drain: () => Promise<void>;
};

/** Tells Temporal of committed posts while the caller already has its answer. */
export function backgroundSync(client: Client, orm: Orm, log: Logger): BackgroundSync {
  const inFlight = new Set<Promise<void>>();
  return {
    tell(post) {
      if (inFlight.size >= maxInFlight) {
        return;
      }

      const telling = syncPost(client, orm.em.fork(), post)
        .catch((error: unknown) => {
          const why = describeError(error);
          log.warn({ post: post.postId, error: why }, 'left to the relay: Temporal did not hear');
        })
        .finally(() => inFlight.delete(telling));
      inFlight.add(telling);
    },
    drain: async () => {
      await Promise.all(inFlight);
    },
  };
}
