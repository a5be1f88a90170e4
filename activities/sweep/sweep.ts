import type { ActivityDeps } from '../deps.ts';
import { forgetOldFinds } from './record-find.ts';
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
};

/**
 * Compares the database with Temporal and heals what does not agree: posts that are overdue or whose workflow is gone,
 * deliveries whose workflow is gone. Bounded, and safe to repeat and to run side by side.
 */
export async function sweep(deps: ActivityDeps): Promise<Swept> {
  const posts = await sweepPosts(deps);
  const deliveries = await sweepDeliveries(deps);
  await forgetOldFinds(deps);
  const swept: Swept = {
    looked: posts.looked + deliveries.looked,
    unanswered: posts.unanswered + deliveries.unanswered,
    workflowGone: posts.workflowGone,
    overdue: posts.overdue,
    deliveriesGone: deliveries.deliveriesGone,
  };
  if (swept.workflowGone + swept.overdue + swept.deliveriesGone > 0) {
    deps.log.info(swept, 'the sweep found something wrong, and healed it');
  }

  return swept;
}
