import { isGrpcServiceError, type WorkflowHandle } from '@temporalio/client';
import { poll } from './poll.ts';

/** gRPC's own number. */
const notFound = 5;

/**
 * Waits until a workflow exists and has at least so many events: the API answers before Temporal has heard.
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
  if (isGrpcServiceError(error) && error.code === notFound) {
    return 0;
  }

  throw error;
}
