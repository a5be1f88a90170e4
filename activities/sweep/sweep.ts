import { sweepGrants } from '../../accounts/sweep-grants.ts';
import type { ActivityDeps } from '../deps.ts';
import { purgeExpired } from './purge-expired.ts';
import type { Sweeping } from './scan-rows.ts';
import { sweepDeliveries } from './sweep-deliveries.ts';
import { sweepPosts } from './sweep-posts.ts';

/** Counts of a sweep. */
export type Swept = {
  /** Rows whose state Temporal returned. */
  readonly looked: number;
  readonly unanswered: number;
  readonly workflowGone: number;
  readonly overdue: number;
  readonly deliveriesGone: number;
  /** Channels whose owners were warned to connect them again soon. */
  readonly channelsAtRisk: number;
  /** Channels whose access ended, with an event for their owners. */
  readonly channelsLost: number;
  /** Purged rows that were past their retention. */
  readonly forgotten: number;
};

/** Longest time of a sweep, and of each kind of row per round, in milliseconds. */
const longestMs = 50_000;
const shareMs = 10_000;

/**
 * Compares the database with Temporal and repairs differences: overdue posts, and posts and deliveries whose workflow
 * is lost. Also keeps accounts connected and purges expired rows. Safe to repeat and to run concurrently.
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
