import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type Client,
  type ScheduleOptions,
} from '@temporalio/client';
import { sweepScheduleId, postsQueue } from '../workflows/messages.ts';
import { underDeadline } from './connect.ts';

export class OtherDatabaseError extends Error {
  override readonly name = 'OtherDatabaseError';

  constructor(namespace: string) {
    super(
      `The namespace "${namespace}" of Temporal belongs to another database of Punctual: workers of two databases would end each other's posts. Correct DATABASE_URL or TEMPORAL_NAMESPACE. If the other database no longer exists, delete the schedule "${sweepScheduleId}" there.`,
    );
  }
}

/**
 * Checks by the sweep's schedule that the namespace is unused or belongs to this database.
 *
 * @param installation Id of this database.
 * @throws OtherDatabaseError @throws ServiceError if Temporal is unavailable.
 */
export async function assertNamespaceOf(client: Client, installation: string): Promise<void> {
  const handle = client.schedule.getHandle(sweepScheduleId);
  const found = await underDeadline(client, () => handle.describe()).catch((error: unknown) => {
    if (error instanceof ScheduleNotFoundError) {
      return undefined;
    }

    throw error;
  });
  assertOwner(client, found?.action.memo?.['installation'], installation);
}

export function assertOwner(client: Client, owner: unknown, installation: string): void {
  if (owner !== undefined && owner !== installation) {
    throw new OtherDatabaseError(client.options.namespace);
  }
}

/** A schedule that is always paused. Its memo stores the count, which thereby survives a restore of the database. */
const counterScheduleId = 'punctual-database';

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

/** @returns the count that Temporal stores for this database; null if it has none. */
export async function loadStoredCounter(
  client: Client,
  installation: string,
): Promise<number | null> {
  try {
    const { action } = await underDeadline(client, () =>
      client.schedule.getHandle(counterScheduleId).describe(),
    );
    return countOf(action.memo, installation);
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) {
      return null;
    }

    throw error;
  }
}

/** Stores the count in Temporal. Never lowers it, because a suspended worker may report late. */
export async function storeCounter(
  client: Client,
  installation: string,
  count: number,
): Promise<void> {
  try {
    await underDeadline(client, () =>
      client.schedule
        .getHandle(counterScheduleId)
        .update(({ action }) =>
          optionsOf(installation, Math.max(count, countOf(action.memo, installation) ?? 0)),
        ),
    );
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) {
      throw error;
    }

    await createSchedule(client, {
      scheduleId: counterScheduleId,
      ...optionsOf(installation, count),
    });
  }
}

export async function createSchedule(client: Client, options: ScheduleOptions): Promise<void> {
  try {
    await underDeadline(client, () => client.schedule.create(options));
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) {
      throw error;
    }
  }
}
