import type { Client } from '@temporalio/client';
import { describeError, type Logger } from '../runtime/logger.ts';
import { retryUntilReady, type Explain } from '../runtime/retry-until-ready.ts';
import { repeat } from '../runtime/repeat.ts';
import { hasGrpcCode } from '../temporal/grpc-errors.ts';
import { sweepScheduleId } from '../workflows/messages.ts';
import { ensureSchedule, type ScheduleDefinition } from './ensure-schedule.ts';

const minuteMs = 60_000;

const sweepSchedule: ScheduleDefinition = {
  scheduleId: sweepScheduleId,
  everyMs: minuteMs,
  // Most posts are due at full minutes: 40 s later their grace period is over, and each is scanned for the first time.
  offsetMs: 40_000,
  workflowType: 'sweepPosts',
  workflowId: 'sweep',
  args: [],
  longestMs: 5 * minuteMs,
  summary: 'Finds posts and deliveries that Temporal has lost',
};

/**
 * Ensures the schedule that starts a sweep each minute. Its memo also holds the database that the namespace belongs to.
 *
 * @throws ServiceError if Temporal is unavailable. @throws OtherDatabaseError
 */
export const ensureSweepSchedule = (client: Client, installation: string): Promise<void> =>
  ensureSchedule(client, sweepSchedule, installation);

/** Waits, before the worker polls, while Temporal is unavailable or the namespace belongs to another database. */
export async function untilOwned(
  client: Client,
  installation: string,
  log: Logger,
  explain: Explain,
): Promise<void> {
  await retryUntilReady(
    'Temporal',
    () =>
      ensureSweepSchedule(client, installation).catch((error: unknown) => {
        if (!lacksSchedules(error)) {
          throw error;
        }
      }),
    log,
    explain,
  );
}

/**
 * Ensures all schedules each minute, in case Temporal lost its data, until the returned function is called. Failures
 * are logged only.
 */
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

      return everyMs;
    } catch (error) {
      log.warn({ error: describeError(error) }, 'the sweep could not be scheduled');
      return lacksSchedules(error) ? null : everyMs;
    }
  }).stop;
}

const lacksSchedules = (error: unknown): boolean => hasGrpcCode(error, 'unimplemented');
