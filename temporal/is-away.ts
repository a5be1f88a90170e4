import { isGrpcServiceError } from '@temporalio/client';

/** gRPC's own numbers: cancelled, deadline exceeded, resource exhausted, unavailable. */
const awayCodes: ReadonlySet<number> = new Set([1, 4, 8, 14]);

/** Whether an error means that Temporal cannot be reached at the moment, whatever it is told. */
export function isTemporalAway(error: unknown): boolean {
  if (isGrpcServiceError(error)) {
    return awayCodes.has(error.code);
  }

  return error instanceof Error && error.cause !== undefined && isTemporalAway(error.cause);
}
