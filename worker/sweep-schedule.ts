import {
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import { describeError } from '../runtime/describe-error.ts';
import type { Logger } from '../runtime/logger.ts';
import { underDeadline } from '../temporal/under-deadline.ts';
import { postsQueue, sweepScheduleId } from '../workflows/messages.ts';

const minuteMs = 60_000;

/** Most posts are due at a full minute: 40 s later, and past its grace, each is looked at for the first time. */
const offsetMs = 40_000;

const wanted = {
  spec: { intervals: [{ every: minuteMs, offset: offsetMs }] },
  action: {
    type: 'startWorkflow' as const,
    workflowType: 'sweepPosts',
    workflowId: 'sweep',
    taskQueue: postsQueue,
    args: [] as [],
    workflowRunTimeout: 5 * minuteMs,
    staticSummary: 'Finds posts and deliveries that Temporal has lost',
  },
  // One at a time. What was missed while Temporal was away is made up for by one sweep.
  policies: { overlap: 'SKIP' as const, catchupWindow: minuteMs },
};

/**
 * Sees to it that Temporal starts a sweep each minute, as this version wants it. What an operator paused stays paused.
 *
 * @throws ServiceError when Temporal is away.
 */
export async function ensureSweepSchedule(client: Client): Promise<void> {
  const handle = client.schedule.getHandle(sweepScheduleId);
  const within = <T>(call: () => Promise<T>): Promise<T> => underDeadline(client, call);
  try {
    if (!isAsWanted(await within(() => handle.describe()))) {
      await within(() => handle.update(({ state }) => ({ ...wanted, state })));
    }
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) {
      throw error;
    }

    await within(() => client.schedule.create({ scheduleId: sweepScheduleId, ...wanted })).catch(
      unlessRunning, // Another worker was quicker.
    );
  }
}

function isAsWanted({ spec, action, policies }: ScheduleDescription): boolean {
  const [interval, ...others] = spec.intervals ?? [];
  return (
    others.length === 0 &&
    interval?.every === minuteMs &&
    interval.offset === offsetMs &&
    action.workflowType === wanted.action.workflowType &&
    action.taskQueue === postsQueue &&
    policies.overlap === wanted.policies.overlap &&
    policies.catchupWindow === minuteMs
  );
}

function unlessRunning(error: unknown): void {
  if (!(error instanceof ScheduleAlreadyRunning)) {
    throw error;
  }
}

/** gRPC's own number: this server knows no schedules. */
const unimplemented = 12;

/**
 * Repeats it each minute, so that a Temporal that lost its data has the schedule again, until the returned function
 * is called. A failure is a line in the log and stops nothing.
 */
export function keepSweepScheduled(
  client: Client,
  log: Logger,
  everyMs = minuteMs,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const look = async (): Promise<void> => {
    try {
      await ensureSweepSchedule(client);
    } catch (error) {
      log.warn({ error: describeError(error) }, 'the sweep could not be scheduled');
      isOver ||= knowsNoSchedules(error);
    }

    if (!isOver) {
      timer = setTimeout(next, everyMs);
    }
  };
  let running = look();
  const next = (): void => {
    running = look();
  };

  return async () => {
    isOver = true;
    clearTimeout(timer);
    await running;
  };
}

const knowsNoSchedules = (error: unknown): boolean =>
  isGrpcServiceError(error)
    ? error.code === unimplemented
    : error instanceof Error && error.cause !== undefined && knowsNoSchedules(error.cause);
