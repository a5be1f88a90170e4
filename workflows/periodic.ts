import { log, proxyActivities, rootCause } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { networkLabel } from './details.ts';
import { postsQueue, publishQueue, type RefreshMetricsInput } from './messages.ts';

type Counts = Awaited<ReturnType<Activities['refreshMetrics']>>;

/** Over all networks. `unread`: those without a result, since no worker took the activity, or it failed. */
type Refreshed = Counts & { readonly unread: readonly string[] };

/** Started by a schedule every five minutes, and on request for a single post. */
export async function refreshMetrics({ networks, post }: RefreshMetricsInput): Promise<Refreshed> {
  const all = await Promise.all(
    networks.map(async (network) => {
      try {
        return await activitiesOf(network).refreshMetrics({ network, ...(post && { post }) });
      } catch (error) {
        // The failure of an activity, which has no text of a post (`redactErrors`), or its timeout.
        const cause = rootCause(error);
        log.warn('metrics of a network were not refreshed', { network, cause });
        return null;
      }
    }),
  );
  const sum = (name: keyof Counts): number =>
    all.reduce((total, counts) => total + (counts?.[name] ?? 0), 0);
  return {
    read: sum('read'),
    gone: sum('gone'),
    postponed: sum('postponed'),
    failed: sum('failed'),
    left: sum('left'),
    unread: networks.filter((_, index) => all[index] === null),
  };
}

const activitiesOf = (network: string) =>
  proxyActivities<Pick<Activities, 'refreshMetrics'>>({
    taskQueue: publishQueue(network),
    summary: `Read metrics of ${networkLabel(network)}`,
    // A network without workers must not delay the others.
    scheduleToStartTimeout: '1 minute',
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20 seconds',
    priority: { priorityKey: 5 }, // After posts, which have the default of 3.
    // One retry for a worker that died; the next refresh reads everything else that failed.
    retry: { maximumAttempts: 2 },
  });

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
