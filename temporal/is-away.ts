import { NamespaceNotFoundError } from '@temporalio/common';
import { causesOf } from '../domain/errors.ts';
import { hasGrpcCode } from './grpc-errors.ts';

/** Whether an error means that Temporal takes no request at the moment, whatever the request says. */
export const isTemporalAway = (error: unknown): boolean =>
  // Without its namespace, Temporal lost its data or is being set up.
  causesOf(error).some((cause) => cause instanceof NamespaceNotFoundError) ||
  hasGrpcCode(
    error,
    'cancelled',
    'deadlineExceeded',
    'permissionDenied',
    'resourceExhausted',
    'unavailable',
    'unauthenticated',
  );
