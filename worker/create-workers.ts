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
import { temporalTrouble } from '../temporal/trouble.ts';
import { postsQueue, publishQueue, webhooksQueue } from '../workflows/messages.ts';
import { deploymentOf } from './bundle-workflows.ts';
import { redactErrors } from './redact-errors.ts';

type Place = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly bundle: WorkflowBundleWithSourceMap;
  /**
   * How long a send in flight is given when the worker stops, in milliseconds: a deploy must not leave posts
   * whose outcome is unknown. Below the platform's own patience.
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
 * Creates the product's workers, as soon as Temporal lets it. A queue whose worker could not be created stays taken on its
 * connection for ever, so each retry opens another connection; the ones before stay open, and unused.
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
    temporalTrouble(options),
  );
}

const createWorkers = ({ deps, ...place }: WorkerSettings): Promise<Worker[]> =>
  pollQueues({ ...place, log: deps.log }, createActivities(deps), Object.keys(deps.networks));

const workflowSettings = {
  // Sleeping posts need no cache; what is cached is what is in flight.
  maxCachedWorkflows: 300,
  // They run one after the other on one thread anyway. More of them at once would wait inside this worker, each with the
  // events from when it was handed out; at Temporal they wait with all that happens meanwhile, so the ends of several
  // channels are one task, not one each (docs/benchmarks.md).
  maxConcurrentWorkflowTaskExecutions: 6,
  // What one worker has in its cache waits for that worker in a queue of its own, which knows no fairness. When the
  // worker is busy for longer than this, it comes to the queue of all, which is fair to each workspace.
  stickyQueueScheduleToStartTimeout: '1 second',
} as const;

/**
 * One worker for posts and the sweep, one for webhooks, with a thread each for their workflows, and one for each network,
 * all with the same activities: a queue decides only what waits for what.
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
      // Half of the polls are for deliveries that begin, not a fifth: the end of one is not urgent.
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
