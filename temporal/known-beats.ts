import { ScheduleAlreadyRunning, ScheduleNotFoundError, type Client } from '@temporalio/client';
import { postsQueue } from '../workflows/messages.ts';
import { underDeadline } from './connect.ts';
import { hasGrpcCode } from './grpc-errors.ts';

/** A schedule that never starts anything: a place in the namespace that outlives the database. */
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
 * @returns how far the workers of this database have counted, as Temporal knows it; null when it does not.
 * @throws ServiceError when Temporal is away.
 */
export async function knownBeats(client: Client, installation: string): Promise<number | null> {
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
 * Never lowers the count: a worker that stood still before it got here may be the last one to tell.
 *
 * @throws ServiceError when Temporal is away.
 */
export async function tellBeats(
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
