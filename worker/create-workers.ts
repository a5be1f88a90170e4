import {
  Worker,
  type NativeConnection,
  type WorkerOptions,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { ActivityDeps } from '../activities/deps.ts';
import { postsQueue, publishQueue, webhooksQueue } from '../workflows/messages.ts';

export type WorkerSettings = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly deps: ActivityDeps;
  readonly bundle: WorkflowBundleWithSourceMap;
  /**
   * How long a send in flight is given when the worker stops, in milliseconds: a deploy must not leave posts
   * whose outcome is unknown. Below the platform's own patience.
   */
  readonly shutdownGraceMs: number;
};

/**
 * One worker for workflows and our own quick steps, one for webhooks and one per network, all with the same
 * activities: a queue decides only what waits for what.
 */
export function createWorkers(settings: WorkerSettings): Promise<Worker[]> {
  const { connection, namespace, deps, bundle, shutdownGraceMs } = settings;
  const shared: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace,
    activities: createActivities(deps),
    shutdownGraceTime: shutdownGraceMs,
    shutdownForceTime: shutdownGraceMs + 10_000,
    maxHeartbeatThrottleInterval: '10 seconds',
  };
  return Promise.all([
    Worker.create({
      ...shared,
      taskQueue: postsQueue,
      workflowBundle: bundle,
      // Sleeping posts need no cache; what is cached is what is in flight.
      maxCachedWorkflows: 300,
    }),
    Worker.create({
      ...shared,
      taskQueue: webhooksQueue,
      maxConcurrentActivityTaskExecutions: 200,
    }),
    ...Object.keys(deps.networks).map((network) =>
      Worker.create({
        ...shared,
        taskQueue: publishQueue(network),
        maxConcurrentActivityTaskExecutions: 50,
      }),
    ),
  ]);
}
