import { proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

/**
 * Short activities on the database. Local, because each history event is a write to the cluster: a post costs 18 events
 * this way and 28 with regular activities. Safe to repeat, so Temporal retries until the database is back.
 */
const local = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
  localRetryThreshold: '5 seconds',
} as const;

export const { claimPost } = proxyLocalActivities<Activities>({
  ...local,
  summary: 'Check that the post is due, and where it goes',
});

export const { finalizePost } = proxyLocalActivities<Activities>({
  ...local,
  summary: 'Record how the post ended, and its event',
});
