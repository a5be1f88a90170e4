import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { postsQueue } from './messages.ts';

const { sweep } = proxyActivities<Activities>({
  taskQueue: postsQueue,
  summary: 'Compare the database with Temporal',
  startToCloseTimeout: '4 minutes',
  // One that fails is not repeated: the next minute's is the same.
  retry: { maximumAttempts: 1 },
});

/** Started each minute by a schedule: finds posts and deliveries that Temporal has lost, and heals them. */
export const sweepPosts = (): ReturnType<typeof sweep> => sweep({});
