import { ScheduleAlreadyRunning, ScheduleNotFoundError, type Client } from '@temporalio/client';
import { postsQueue } from '../workflows/messages.ts';
import { underDeadline } from './connect.ts';
import { hasGrpcCode } from './grpc-errors.ts';

/**
 * A schedule that is always paused. Its memo stores the count in the namespace, so it survives a restore of the
 * database.
 */
const scheduleId = 'punctual-database';

const optionsOf = (installation: string, count: number) => ({
  spec: { intervals: [{ every: '365 days' as const }] },
  action: {
    type: 'startWorkflow' as const,
    workflowType: 'sweepPosts',
    workflowId: 'sweep',
    taskQueue: postsQueue,
    memo: { installation, count },
  },
  state: {
    paused: true,
    note: 'Starts nothing. Workers count here each minute, to notice a database that was restored from a backup.',
  },
});

function countOf(
  memo: Readonly<Record<string, unknown>> | undefined,
  installation: string,
): number | null {
  return memo?.['installation'] === installation ? Number(memo['count']) : null;
}

/**
 * @returns the count that Temporal stores for this database; null if it has none.
 * @throws ServiceError if Temporal is unavailable.
 */
export async function loadStoredCounter(
  client: Client,
  installation: string,
): Promise<number | null> {
  try {
    const { action } = await underDeadline(client, () =>
      client.schedule.getHandle(scheduleId).describe(),
    );
    return countOf(action.memo, installation);
  } catch (error) {
    if (error instanceof ScheduleNotFoundError || hasGrpcCode(error, 'unimplemented')) {
      return null;
    }

    throw error;
  }
}

/**
 * Stores the count in Temporal. Never lowers it, because a suspended worker may report late.
 *
 * @throws ServiceError if Temporal is unavailable.
 */
export async function storeCounter(
  client: Client,
  installation: string,
  count: number,
): Promise<void> {
  const within = <T>(call: () => Promise<T>): Promise<T> => underDeadline(client, call);
  try {
    await within(() =>
      client.schedule
        .getHandle(scheduleId)
        .update(({ action }) =>
          optionsOf(installation, Math.max(count, countOf(action.memo, installation) ?? 0)),
        ),
    );
  } catch (error) {
    if (hasGrpcCode(error, 'unimplemented')) {
      return;
    }

    if (!(error instanceof ScheduleNotFoundError)) {
      throw error;
    }

    const options = { scheduleId, ...optionsOf(installation, count) };
    await within(() => client.schedule.create(options)).catch(unlessRunning);
  }
}

function unlessRunning(error: unknown): void {
  if (!(error instanceof ScheduleAlreadyRunning)) {
    throw error;
  }
}
