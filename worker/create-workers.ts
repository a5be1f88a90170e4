import {
  Worker,
  type NativeConnection,
  type WorkerOptions,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { ActivityDeps } from '../activities/deps.ts';
import { postsQueue, publishQueue, webhooksQueue } from '../workflows/messages.ts';
import { deploymentOf } from './deployment.ts';

type Place = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly bundle: WorkflowBundleWithSourceMap;
  /**
   * How long a send in flight is given when the worker stops, in milliseconds: a deploy must not leave posts
   * whose outcome is unknown. Below the platform's own patience.
   */
  readonly shutdownGraceMs: number;
};

export type WorkerSettings = Place & { readonly deps: ActivityDeps };

/** The product's workers. */
export const createWorkers = ({ deps, ...place }: WorkerSettings): Promise<Worker[]> =>
  pollQueues(place, createActivities(deps), Object.keys(deps.networks));

const workflowSettings = {
  // Sleeping posts need no cache; what is cached is what is in flight.
  maxCachedWorkflows: 300,
  // They take turns on one thread anyway. More of them at once would wait inside this worker, each with what had
  // happened when it was handed out; at Temporal they wait with all that happens meanwhile, so the ends of several
  // channels are one task, not one each (docs/benchmarks.md).
  maxConcurrentWorkflowTaskExecutions: 6,
  // What one worker has in its cache waits for that worker in a queue of its own, which knows no turns. When the
  // worker is busy for longer than this, it comes to the queue of all, where each workspace has its turn.
  stickyQueueScheduleToStartTimeout: '1 second',
} as const;

/**
 * One worker for posts and our own quick steps, one for webhooks, with a thread each for their workflows, and one per
 * network, all with the same activities: a queue decides only what waits for what.
 */
export function pollQueues(
  { connection, namespace, bundle, shutdownGraceMs }: Place,
  activities: object,
  networks: readonly string[],
): Promise<Worker[]> {
  const shared: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace,
    activities,
    workerDeploymentOptions: deploymentOf(bundle),
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + 10_000,
    maxHeartbeatThrottleInterval: '10 seconds',
  };
  const ofWorkflows = { ...workflowSettings, workflowBundle: bundle };
  return Promise.all([
    Worker.create({ ...shared, ...ofWorkflows, taskQueue: postsQueue }),
    Worker.create({
      ...shared,
      ...ofWorkflows,
      taskQueue: webhooksQueue,
      // Half of the polls are for deliveries that begin, not a fifth: nobody waits for the end of one.
      nonStickyToStickyPollRatio: 0.5,
      maxConcurrentActivityTaskExecutions: 200,
    }),
    ...networks.map((network) =>
      Worker.create({
        ...shared,
        taskQueue: publishQueue(network),
        // Five times what a server that does not answer may hold (domain/server-health.ts).
        maxConcurrentActivityTaskExecutions: 100,
      }),
    ),
  ]);
}
