import { ScheduleNotFoundError, type Client } from '@temporalio/client';
import { sweepScheduleId } from '../workflows/messages.ts';
import { underDeadline } from './connect.ts';

/** The Temporal namespace belongs to another database. */
export class OtherDatabaseError extends Error {
  override readonly name = 'OtherDatabaseError';

  constructor(namespace: string) {
    super(
      `The namespace "${namespace}" of Temporal belongs to another database of Punctual: workers of two databases would end each other's posts. Correct DATABASE_URL or TEMPORAL_NAMESPACE. If the other database no longer exists, delete the schedule "${sweepScheduleId}" there.`,
    );
  }
}

/**
 * Checks by the sweep's schedule that the namespace is unused or belongs to this database. A namespace that never had
 * workers has no schedule.
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

/** @throws OtherDatabaseError */
export function assertOwner(client: Client, owner: unknown, installation: string): void {
  if (owner !== undefined && owner !== installation) {
    throw new OtherDatabaseError(client.options.namespace);
  }
}
