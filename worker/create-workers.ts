import {
  NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundleWithSourceMap,
} from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { ActivityDeps } from '../activities/deps.ts';
import { retryUntilReady } from '../runtime/retry-until-ready.ts';
import type { Logger } from '../runtime/logger.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { explainTemporalFailure } from '../temporal/explain-failure.ts';
import { postsQueue, publishQueue, webhooksQueue } from '../workflows/messages.ts';
import { deploymentOf } from './bundle-workflows.ts';
import { redactErrors } from './redact-errors.ts';

type Place = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly bundle: WorkflowBundleWithSourceMap;
  /**
   * In milliseconds. Time for requests in flight when the worker stops, so that a deploy leaves no post with an unknown
   * outcome. Below the platform's own grace period.
   */
  readonly shutdownGraceMs: number;
  readonly log: Logger;
};

export type WorkerSettings = Omit<Place, 'log'> & { readonly deps: ActivityDeps };

export type ConnectedWorkers = {
  readonly connection: NativeConnection;
  readonly workers: readonly Worker[];
};

/**
 * Creates the workers as soon as Temporal accepts them. A queue whose worker failed to start stays reserved on its
 * connection, so each retry opens another connection; the earlier ones stay open and unused.
 */
export function createWorkersWhenReady(
  settings: WorkerSettings,
  log: Logger,
): Promise<ConnectedWorkers> {
  const options = temporalOptions();
  let { connection } = settings;
  let isSpent = false;
  return retryUntilReady(
    'Temporal',
    async () => {
      if (isSpent) {
        connection = await NativeConnection.connect(options.connectionOptions);
      }

      isSpent = true;
      return { connection, workers: await createWorkers({ ...settings, connection }) };
    },
    log,
    explainTemporalFailure(options),
  );
}

const createWorkers = ({ deps, ...place }: WorkerSettings): Promise<Worker[]> =>
  pollQueues({ ...place, log: deps.log }, createActivities(deps), Object.keys(deps.networks));

const workflowSettings = {
  // Sleeping posts need no cache, only those in flight.
  maxCachedWorkflows: 300,
  // Workflow tasks run one after another on one thread. More of them would wait in this worker with outdated events; in
  // Temporal they collect later events, so the ends of several channels become one task (docs/benchmarks.md).
  maxConcurrentWorkflowTaskExecutions: 6,
  // A cached workflow waits for its worker in a sticky queue, which has no fairness. After this time it moves to the
  // shared queue, which is fair to workspaces.
  stickyQueueScheduleToStartTimeout: '1 second',
} as const;

/**
 * Creates a worker for posts and the sweep, one for webhooks, each with a workflow thread, and one for each network.
 * All have the same activities: a queue only separates backlogs.
 */
export function pollQueues(
  { connection, namespace, bundle, shutdownGraceMs, log }: Place,
  activities: object,
  networks: readonly string[],
): Promise<Worker[]> {
  const shared: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace,
    activities,
    interceptors: { activity: [redactErrors(log)] },
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
      // Half of the polls are for new deliveries, not a fifth: the end of a delivery is not urgent.
      nonStickyToStickyPollRatio: 0.5,
      maxConcurrentActivityTaskExecutions: 200,
    }),
    ...networks.map((network) =>
      Worker.create({
        ...shared,
        taskQueue: publishQueue(network),
        // Five times the slots of a server that does not answer (domain/server-health.ts).
        maxConcurrentActivityTaskExecutions: 100,
      }),
    ),
  ]);
}
