import { ScheduleNotFoundError, type Client } from '@temporalio/client';
import { describeError, type Logger } from '../runtime/logger.ts';
import { retryUntilReady, type Explain } from '../runtime/process.ts';
import { repeat } from '../runtime/timers.ts';
import { underDeadline } from '../temporal/connect.ts';
import { assertOwner, createSchedule } from '../temporal/namespace.ts';
import {
  postsQueue,
  metricsScheduleId,
  metricsWorkflowId,
  sweepScheduleId,
} from '../workflows/messages.ts';

const minuteMs = 60_000;

export const sweepSchedule = {
  scheduleId: sweepScheduleId,
  everyMs: minuteMs,
  // Runs start this long after each multiple of the interval.
  // Most posts are due at full minutes: 40 s later their grace period is over, and each is scanned for the first time.
  offsetMs: 40_000,
  workflowType: 'sweepPosts',
  workflowId: 'sweep',
  args: [],
  longestMs: 5 * minuteMs,
  summary: 'Finds posts and deliveries that Temporal has lost',
};

type ScheduleDefinition = Omit<typeof sweepSchedule, 'args'> & {
  readonly args: readonly unknown[];
};

/** Schedule that refreshes metrics every five minutes. @param networks Networks that the workers serve. */
export const metricsSchedule = (networks: readonly string[]): ScheduleDefinition => ({
  scheduleId: metricsScheduleId,
  everyMs: 5 * minuteMs,
  // Most posts are due at full minutes, so keep clear of them.
  offsetMs: 80_000,
  workflowType: 'refreshMetrics',
  workflowId: metricsWorkflowId,
  args: [{ networks: networks.toSorted() }],
  longestMs: 15 * minuteMs,
  summary: 'Reads metrics of posts that are due',
});

/** Waits, before the worker polls, while Temporal is unavailable or the namespace belongs to another database. */
export async function untilOwned(
  client: Client,
  installation: string,
  log: Logger,
  explain: Explain,
): Promise<void> {
  await retryUntilReady(
    'Temporal',
    () => ensureSchedule(client, sweepSchedule, installation),
    log,
    explain,
  );
}

/** Ensures all schedules each minute, in case Temporal lost its data, until the returned function is called. */
export function keepScheduled(
  client: Client,
  installation: string,
  log: Logger,
  others: readonly ScheduleDefinition[] = [],
  everyMs = minuteMs,
): () => Promise<void> {
  return repeat(async () => {
    try {
      for (const schedule of [sweepSchedule, ...others]) {
        await ensureSchedule(client, schedule, installation);
      }
    } catch (error) {
      log.warn({ error: describeError(error) }, 'the sweep could not be scheduled');
    }

    return everyMs;
  }).stop;
}

/**
 * Creates a schedule, or updates that of another version. A paused schedule stays paused. Its memo holds the database
 * that the namespace belongs to, and the definition.
 *
 * @throws ServiceError if Temporal is unavailable. @throws OtherDatabaseError
 */
export async function ensureSchedule(
  client: Client,
  schedule: ScheduleDefinition,
  installation: string,
): Promise<void> {
  const { scheduleId } = schedule;
  const wanted = optionsOf(schedule, installation);
  const handle = client.schedule.getHandle(scheduleId);
  const within = <T>(call: () => Promise<T>): Promise<T> => underDeadline(client, call);
  try {
    const { memo = {} } = (await within(() => handle.describe())).action;
    assertOwner(client, memo['installation'], installation);
    if (memo['definition'] !== wanted.action.memo.definition) {
      await within(() => handle.update(({ state }) => ({ ...wanted, state })));
    }
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) {
      throw error;
    }

    await createSchedule(client, { scheduleId, ...wanted });
  }
}

const optionsOf = (schedule: ScheduleDefinition, installation: string) => ({
  spec: { intervals: [{ every: schedule.everyMs, offset: schedule.offsetMs }] },
  action: {
    type: 'startWorkflow' as const,
    workflowType: schedule.workflowType,
    workflowId: schedule.workflowId,
    taskQueue: postsQueue,
    args: [...schedule.args],
    workflowRunTimeout: schedule.longestMs,
    staticSummary: schedule.summary,
    memo: { installation, definition: JSON.stringify(schedule) },
  },
  // One run at a time. One run makes up for all that were missed while Temporal was unavailable.
  policies: { overlap: 'SKIP' as const, catchupWindow: minuteMs },
});
