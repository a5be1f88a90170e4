import {
  ApplicationFailure,
  ApplicationFailureCategory,
  CancelledFailure,
} from '@temporalio/common';
import {
  NativeConnection,
  Worker,
  type WorkerOptions,
  type WorkflowBundleWithSourceMap,
  type ActivityInterceptorsFactory,
  DefaultLogger,
  type Logger as TemporalLogger,
} from '@temporalio/worker';
import type { ActivityDeps } from '../activities/deps.ts';
import { createActivities } from '../activities/index.ts';
import { isDatabaseUnavailable } from '../db/database-errors.ts';
import { SupersededError } from '../db/ledger/intents.ts';
import { mostOnNetwork } from '../domain/pacing.ts';
import { countedErrors, describeError, type Logger } from '../runtime/logger.ts';
import { retryUntilReady } from '../runtime/process.ts';
import { explainTemporalFailure } from '../temporal/explain-failure.ts';
import { temporalOptions } from '../temporal/settings.ts';
import { isExpectedFailure } from '../workflows/details.ts';
import { postsQueue, publishQueue, webhooksQueue } from '../workflows/messages.ts';
import { deploymentOf } from './bundle-workflows.ts';

type Place = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly bundle: WorkflowBundleWithSourceMap;
  /** For requests in flight when the worker stops, below the platform's own grace period. In milliseconds. */
  readonly shutdownGraceMs: number;
  readonly log: Logger;
};

type WorkerSettings = Omit<Place, 'log'> & { readonly deps: ActivityDeps };

/**
 * Creates the workers as soon as Temporal accepts them. A queue whose worker failed to start stays reserved on its
 * connection, so each retry opens another one.
 */
export function createWorkersWhenReady({ deps, ...settings }: WorkerSettings) {
  const { log } = deps;
  const options = temporalOptions();
  let { connection } = settings;
  let isSpent = false;
  const create = async () => {
    if (isSpent) {
      connection = await NativeConnection.connect(options.connectionOptions);
    }

    isSpent = true;
    const place = { ...settings, connection, log };
    const workers = await pollQueues(place, createActivities(deps), Object.keys(deps.networks));
    return { connection, workers };
  };
  return retryUntilReady('Temporal', create, log, explainTemporalFailure(options));
}

const workflowSettings = {
  // Sleeping posts need no cache, only those in flight.
  maxCachedWorkflows: 300,
  // Workflow tasks run one after another on one thread. More of them would wait in this worker with outdated events; in
  // Temporal they collect later events, so the ends of several channels become one task (docs/internals/benchmarks.md).
  maxConcurrentWorkflowTaskExecutions: 6,
  // A cached workflow waits for its worker in a sticky queue, which has no fairness. After this time it moves to the
  // shared queue, which is fair to workspaces.
  stickyQueueScheduleToStartTimeout: '1 second',
} as const;

/** All workers have the same activities: a queue only separates backlogs. */
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
        maxConcurrentActivityTaskExecutions: mostOnNetwork,
      }),
    ),
  ]);
}

/**
 * Logs each failed activity in one line, and those of an outage of the database in one line every five seconds. Only
 * the log gets the message of an unexpected error, since it may contain a post's text or a token.
 */
export function redactErrors(log: Logger): ActivityInterceptorsFactory {
  const countUnavailable = countedErrors(
    log,
    'the database is unavailable: activities failed, Temporal retries them',
  );
  return ({ info: { activityType, attempt, taskQueue, workflowExecution } }) => ({
    inbound: {
      execute: async (input, next) => {
        try {
          return await next(input);
        } catch (error) {
          const { workspaceId, postId, postChannelId, deliveryId } = (input.args[0] ?? {}) as Ids;
          const where = {
            activity: activityType,
            queue: taskQueue, // Names the network.
            attempt,
            workflow: workflowExecution?.workflowId,
            workspace: workspaceId,
            post: postId,
            postChannel: postChannelId,
            delivery: deliveryId,
          };
          if (error instanceof ApplicationFailure || error instanceof CancelledFailure) {
            if (error instanceof ApplicationFailure && !logged.has(error.type ?? '')) {
              const isExpected = error.category === ApplicationFailureCategory.BENIGN;
              const level = waits.has(error.type ?? '') ? 'debug' : isExpected ? 'info' : 'warn';
              log[level]({ ...where, code: error.type }, 'activity failed');
            }

            throw error;
          }

          if (error instanceof SupersededError) {
            log.info({ ...where, code: 'superseded' }, 'activity failed');
            throw ApplicationFailure.create({ type: 'superseded', message: error.message });
          }

          const why = describeError(error);
          if (isDatabaseUnavailable(error)) {
            countUnavailable(where, why);
            throw ApplicationFailure.create({
              type: 'internal',
              message: "The database is unavailable. The worker's log says why.",
            });
          }

          log.error({ ...where, error: why }, 'activity failed, Temporal retries it');
          throw ApplicationFailure.create({
            type: 'internal',
            message: `${why.name}. The worker's log has the details under this workflow's id.`,
          });
        }
      },
    },
  });
}

type Ids = Partial<Record<'workspaceId' | 'postId' | 'postChannelId' | 'deliveryId', string>>;

/** Types of failures of an attempt that sent nothing and only waits for its turn. */
const waits = new Set(['paced', 'endpoint_busy', 'too_early']);

/** Types of failures that the activity itself logs, with their cause. */
const logged = new Set(['internal', 'secret_unreadable']);

/** In an outage each poll and each due post has such lines, many a minute; `/status` and other lines report it. */
const repeated = /^(?:gRPC call |\[TMPRL1104\]|Tried to complete untracked local activity)/v;

/** Forwards Temporal's messages to the log, without errors: Temporal's line would contain the full error. */
export function temporalLogger(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    // `redactErrors` logs failed activities, and some workers have no workflows.
    if (message === 'Activity failed' || message.startsWith('No workflows registered')) {
      return;
    }

    const { error, ...rest } = meta ?? {};
    const fault = error instanceof Error ? error : undefined;
    if (message === 'Workflow failed' && fault && isExpectedFailure(fault.message)) {
      // Only ids and codes. The worker is not at fault. `finalizePost` has logged how a post ended.
      if (!String(rest['workflowId']).startsWith('post-')) {
        log.info({ workflow: rest['workflowId'] }, fault.message);
      }

      return;
    }

    const severity = repeated.test(message) ? 'debug' : level.toLowerCase();
    const temporal = { ...rest, error: fault?.name };
    log[severity as Lowercase<typeof level>]({ temporal }, message);
  });
}
