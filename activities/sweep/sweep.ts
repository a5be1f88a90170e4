import { sweepGrants } from '../../accounts/sweep-grants.ts';
import type { ActivityDeps } from '../deps.ts';
import { purgeExpired } from './purge-expired.ts';
import type { Sweeping } from './scan-rows.ts';
import { sweepDeliveries } from './sweep-deliveries.ts';
import { sweepPosts } from './sweep-posts.ts';

/** What a sweep did, in numbers. */
export type Swept = {
  /** Rows whose state Temporal answered. */
  readonly looked: number;
  readonly unanswered: number;
  readonly workflowGone: number;
  readonly overdue: number;
  readonly deliveriesGone: number;
  /** Whose owners were told that they have to connect them again soon. */
  readonly channelsAtRisk: number;
  /** Whose access is over, as their owners were told. */
  readonly channelsLost: number;
  /** Rows that were older than they are kept, and are purged. */
  readonly forgotten: number;
};

/** For how long a sweep goes on while it is not through, and how long each kind of row may take at a time. */
const longestMs = 50_000;
const shareMs = 10_000;

/**
 * Compares the database with Temporal and repairs what does not agree: posts that are overdue or whose workflow is gone,
 * deliveries whose workflow is gone. Keeps accounts connected, and purges what has expired. It takes as long as there is much to scan, within bounds,
 * and is safe to repeat and to run side by side.
 */
export async function sweep(deps: ActivityDeps): Promise<Swept> {
  const endMs = performance.now() + longestMs;
  const sums = { looked: 0, unanswered: 0, workflowGone: 0, overdue: 0, deliveriesGone: 0 };
  const ofPosts: Sweeping = { beganAt: deps.now(), isAlarm: false };
  const ofDeliveries: Sweeping = { beganAt: deps.now(), isAlarm: false };
  for (let goesOn = true; goesOn && performance.now() < endMs;) {
    const posts = await sweepPosts(deps, ofPosts, shareMs);
    const deliveries = await sweepDeliveries(deps, ofDeliveries, performance.now() + shareMs);
    sums.looked += posts.looked + deliveries.looked;
    sums.unanswered += posts.unanswered + deliveries.unanswered;
    sums.workflowGone += posts.lost;
    sums.overdue += posts.overdue;
    sums.deliveriesGone += deliveries.lost;
    goesOn = posts.isCutShort || deliveries.isCutShort;
  }

  const { warned: channelsAtRisk, ended: channelsLost } = await sweepGrants(deps);
  const swept: Swept = {
    ...sums,
    channelsAtRisk,
    channelsLost,
    forgotten: await purgeExpired(deps),
  };
  if (swept.workflowGone + swept.overdue + swept.deliveriesGone > 0) {
    deps.log.info(swept, 'the sweep found something wrong, and repaired it');
  }

  return swept;
}
