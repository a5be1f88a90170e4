import type { ActivityDeps } from '../deps.ts';
import { forgetOld } from './forget-old.ts';
import { sweepDeliveries } from './sweep-deliveries.ts';
import { sweepPosts } from './sweep-posts.ts';

/** What a sweep did, in numbers. */
export type Swept = {
  /** Rows about which Temporal was asked and answered. */
  readonly looked: number;
  readonly unanswered: number;
  readonly workflowGone: number;
  readonly overdue: number;
  readonly deliveriesGone: number;
  /** Rows that were older than what is kept. */
  readonly forgotten: number;
};

/**
 * Compares the database with Temporal and heals what does not agree: posts that are overdue or whose workflow is gone,
 * deliveries whose workflow is gone. Removes what is older than 30 days. Bounded, and safe to repeat and to run side by side.
 */
export async function sweep(deps: ActivityDeps): Promise<Swept> {
  const posts = await sweepPosts(deps);
  const deliveries = await sweepDeliveries(deps);
  const forgotten = await forgetOld(deps);
  const swept: Swept = {
    looked: posts.looked + deliveries.looked,
    unanswered: posts.unanswered + deliveries.unanswered,
    workflowGone: posts.workflowGone,
    overdue: posts.overdue,
    deliveriesGone: deliveries.deliveriesGone,
    forgotten,
  };
  if (swept.workflowGone + swept.overdue + swept.deliveriesGone > 0) {
    deps.log.info(swept, 'the sweep found something wrong, and healed it');
  }

  return swept;
}
