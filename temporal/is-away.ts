import { isGrpcServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';

/** gRPC's own numbers: cancelled, deadline exceeded, permission denied, resource exhausted, unavailable, not logged in. */
const awayCodes: ReadonlySet<number> = new Set([1, 4, 7, 8, 14, 16]);

/** Whether an error means that Temporal takes nothing at the moment, whatever it is told. */
export function isTemporalAway(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) {
    return true; // It lost its data, or is being set up.
  }

  if (isGrpcServiceError(error)) {
    return awayCodes.has(error.code);
  }

  return error instanceof Error && error.cause !== undefined && isTemporalAway(error.cause);
}
