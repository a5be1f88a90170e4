import { log, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { networkName } from './details.ts';
import { publishQueue, type RefreshMetricsInput } from './messages.ts';

/** What a refresh did on all networks, in posts on channels. */
type Refreshed = Awaited<ReturnType<Activities['refreshMetrics']>> & {
  /** Networks of which nothing is known: no worker took them, or they failed. */
  readonly unread: readonly string[];
};

const nothing = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

/**
 * Started every few minutes by a schedule, and for a single post when somebody asks: one activity for each network reads
 * the figures of what is due by the database. However many posts wait, a refresh has the same few events.
 */
export async function refreshMetrics({ networks, post }: RefreshMetricsInput): Promise<Refreshed> {
  const all = await Promise.all(
    networks.map(async (network) => {
      try {
        return await activitiesOf(network).refreshMetrics({ network, ...(post && { post }) });
      } catch {
        log.warn('metrics of a network were not refreshed', { network });
        return null;
      }
    }),
  );
  const unread = networks.filter((_, index) => all[index] === null);
  const sums = { ...nothing };
  for (const counts of all) {
    for (const name of Object.keys(nothing) as (keyof typeof nothing)[]) {
      sums[name] += counts?.[name] ?? 0;
    }
  }

  return { ...sums, unread };
}

const activitiesOf = (network: string) =>
  proxyActivities<Pick<Activities, 'refreshMetrics'>>({
    taskQueue: publishQueue(network),
    summary: `Read metrics of ${networkName(network)}`,
    // Where nobody works for a network the others are not held up. Posts go first.
    scheduleToStartTimeout: '1 minute',
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20 seconds',
    priority: { priorityKey: 5 },
    // Another try for a worker that died; what fails otherwise comes again with the next refresh.
    retry: { maximumAttempts: 2 },
  });
