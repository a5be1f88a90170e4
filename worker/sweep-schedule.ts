import type { Client } from '@temporalio/client';
import { describeError, type Logger } from '../runtime/logger.ts';
import { retryUntilReady, type Explain } from '../runtime/retry-until-ready.ts';
import { repeat } from '../runtime/repeat.ts';
import { hasGrpcCode } from '../temporal/grpc-errors.ts';
import { sweepScheduleId } from '../workflows/messages.ts';
import { ensureSchedule, type Schedule } from './ensure-schedule.ts';

const minuteMs = 60_000;

const sweepSchedule: Schedule = {
  scheduleId: sweepScheduleId,
  everyMs: minuteMs,
  // Most posts are due at a full minute: 40 s later, and past its grace, each is scanned for the first time.
  offsetMs: 40_000,
  workflowType: 'sweepPosts',
  workflowId: 'sweep',
  args: [],
  longestMs: 5 * minuteMs,
  summary: 'Finds posts and deliveries that Temporal has lost',
};

/**
 * The schedule by which Temporal starts a sweep each minute, and which says which database the namespace belongs to.
 *
 * @throws ServiceError when Temporal is away. @throws OtherDatabaseError
 */
export const ensureSweepSchedule = (client: Client, installation: string): Promise<void> =>
  ensureSchedule(client, sweepSchedule, installation);

/** Before this process polls: waits while Temporal is away, and while the namespace is another database's. */
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
        if (!knowsNoSchedules(error)) {
          throw error;
        }
      }),
    log,
    explain,
  );
}

/**
 * Ensures that schedule and others each minute, for a Temporal that lost its data, until the returned function is called.
 * A failure is a line in the log and stops nothing.
 */
export function keepScheduled(
  client: Client,
  installation: string,
  log: Logger,
  others: readonly Schedule[] = [],
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
      return knowsNoSchedules(error) ? null : everyMs;
    }
  }).stop;
}

const knowsNoSchedules = (error: unknown): boolean => hasGrpcCode(error, 'unimplemented');
