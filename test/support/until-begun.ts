import type { WorkflowHandle } from '@temporalio/client';
import { hasGrpcCode } from '../../temporal/connect.ts';
import { poll } from './poll.ts';

/**
 * Waits until a workflow exists and has at least this many events: the API answers before its sync.
 *
 * @returns the same handle.
 */
export async function untilBegun<H extends WorkflowHandle>(handle: H, events = 1): Promise<H> {
  await poll(
    () => handle.fetchHistory().then((history) => history.events?.length ?? 0, zeroIfMissing),
    (count) => count >= events,
  );
  return handle;
}

function zeroIfMissing(error: unknown): number {
  if (hasGrpcCode(error, 'notFound')) {
    return 0;
  }

  throw error;
}
