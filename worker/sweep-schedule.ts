import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleDescription,
} from '@temporalio/client';
import { describeError, type Logger } from '../runtime/logger.ts';
import { retryUntilReady } from '../runtime/retry-until-ready.ts';
import { repeat } from '../runtime/repeat.ts';
import { assertOwner } from '../temporal/namespace-owner.ts';
import { hasGrpcCode } from '../temporal/grpc-errors.ts';
import { underDeadline } from '../temporal/connect.ts';
import { postsQueue, sweepScheduleId } from '../workflows/messages.ts';

const minuteMs = 60_000;

/** Most posts are due at a full minute: 40 s later, and past its grace, each is scanned for the first time. */
const offsetMs = 40_000;

/** @param installation Of the database that the sweep compares with Temporal. */
const wantedFor = (installation: string) => ({
  spec: { intervals: [{ every: minuteMs, offset: offsetMs }] },
  action: {
    type: 'startWorkflow' as const,
    workflowType: 'sweepPosts',
    workflowId: 'sweep',
    taskQueue: postsQueue,
    args: [] as [],
    workflowRunTimeout: 5 * minuteMs,
    staticSummary: 'Finds posts and deliveries that Temporal has lost',
    memo: { installation },
  },
  // One at a time. What was missed while Temporal was away is made up for by one sweep.
  policies: { overlap: 'SKIP' as const, catchupWindow: minuteMs },
});

/**
 * Creates the schedule by which Temporal starts a sweep each minute, or updates that of another version. What an operator
 * paused stays paused. The schedule says which database the namespace belongs to.
 *
 * @throws ServiceError when Temporal is away. @throws OtherDatabaseError
 */
export async function ensureSweepSchedule(client: Client, installation: string): Promise<void> {
  const wanted = wantedFor(installation);
  const handle = client.schedule.getHandle(sweepScheduleId);
  const within = <T>(call: () => Promise<T>): Promise<T> => underDeadline(client, call);
  try {
    const found = await within(() => handle.describe());
    const owner = found.action.memo?.['installation'];
    assertOwner(client, owner, installation);
    if (owner === undefined || !isAsWanted(found)) {
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
    action.workflowType === 'sweepPosts' &&
    action.taskQueue === postsQueue &&
    policies.overlap === 'SKIP' &&
    policies.catchupWindow === minuteMs
  );
}

function unlessRunning(error: unknown): void {
  if (!(error instanceof ScheduleAlreadyRunning)) {
    throw error;
  }
}

/** Before this process polls: waits while Temporal is away, and while the namespace is another database's. */
export async function untilOwned(client: Client, installation: string, log: Logger): Promise<void> {
  await retryUntilReady(
    'Temporal',
    () =>
      ensureSweepSchedule(client, installation).catch((error: unknown) => {
        if (!knowsNoSchedules(error)) {
          throw error;
        }
      }),
    log,
  );
}

/**
 * Ensures the schedule each minute, for a Temporal that lost its data, until the returned function is called. A failure
 * is a line in the log and stops nothing.
 */
export function keepSweepScheduled(
  client: Client,
  installation: string,
  log: Logger,
  everyMs = minuteMs,
): () => Promise<void> {
  return repeat(async () => {
    try {
      await ensureSweepSchedule(client, installation);
      return everyMs;
    } catch (error) {
      log.warn({ error: describeError(error) }, 'the sweep could not be scheduled');
      return knowsNoSchedules(error) ? null : everyMs;
    }
  }).stop;
}

const knowsNoSchedules = (error: unknown): boolean => hasGrpcCode(error, 'unimplemented');
