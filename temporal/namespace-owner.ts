import { ScheduleNotFoundError, type Client } from '@temporalio/client';
import { sweepScheduleId } from '../workflows/messages.ts';
import { underDeadline } from './connect.ts';

/** This namespace of Temporal is that of another database. */
export class OtherDatabaseError extends Error {
  override readonly name = 'OtherDatabaseError';

  constructor(namespace: string) {
    super(
      `The namespace "${namespace}" of Temporal belongs to another database of Punctual: workers of two would end each other's posts. Correct DATABASE_URL or TEMPORAL_NAMESPACE. If the other database is gone for good, delete the schedule "${sweepScheduleId}" there.`,
    );
  }
}

/**
 * That the namespace is free or this database's, by the schedule of its sweep; a namespace without workers has none.
 *
 * @param installation Which database this is.
 * @throws OtherDatabaseError @throws ServiceError when Temporal is away.
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

/** @throws OtherDatabaseError */
export function assertOwner(client: Client, owner: unknown, installation: string): void {
  if (owner !== undefined && owner !== installation) {
    throw new OtherDatabaseError(client.options.namespace);
  }
}
