import { proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

/**
 * Quick activities on our own database. Local, because each history event is a write to the cluster: a post costs
 * 18 events this way and 28 with regular activities. Safe to repeat, so Temporal retries until the database is back.
 */
const local = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
  localRetryThreshold: '5 seconds',
} as const;

export const { claimPost } = proxyLocalActivities<Activities>({
  ...local,
  summary: 'does the database say that it goes out now, and where to',
});

export const { finalizePost } = proxyLocalActivities<Activities>({
  ...local,
  summary: 'write down how the post ended, and its event',
});
