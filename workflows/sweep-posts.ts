import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { postsQueue } from './messages.ts';

const { sweep } = proxyActivities<Activities>({
  taskQueue: postsQueue,
  summary: 'Compare the posts that are due with their workflows',
  startToCloseTimeout: '4 minutes',
  // Only one sweep runs at a time, so a killed worker must be detected before it delays the next ones.
  heartbeatTimeout: '20 seconds',
  // No retry: the next minute's sweep does the same.
  retry: { maximumAttempts: 1 },
});

/** Started by a schedule each minute: finds posts and deliveries that Temporal has lost, and restarts them. */
export const sweepPosts = (): ReturnType<typeof sweep> => sweep({});
