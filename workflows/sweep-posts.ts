import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { postsQueue } from './messages.ts';

const { sweep } = proxyActivities<Activities>({
  taskQueue: postsQueue,
  summary: 'Compare the posts that are due with their workflows',
  startToCloseTimeout: '4 minutes',
  // A killed worker must not keep the next ones from beginning: there is one at a time.
  heartbeatTimeout: '20 seconds',
  // One that fails is not repeated: the next minute's is the same.
  retry: { maximumAttempts: 1 },
});

/** Started each minute by a schedule: finds posts and deliveries that Temporal has lost, and heals them. */
export const sweepPosts = (): ReturnType<typeof sweep> => sweep({});
