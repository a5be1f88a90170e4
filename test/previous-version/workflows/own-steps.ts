import { proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

/**
 * Local activities, because each history event is a write to the cluster: a post costs 18 events this way and 28 with
 * regular activities. They can be repeated, so Temporal retries until the database is back.
 */
export const { claimPost, finalizePost } = proxyLocalActivities<Activities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
  localRetryThreshold: '5 seconds',
});
