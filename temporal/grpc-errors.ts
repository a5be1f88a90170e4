import { isGrpcServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { causesOf } from '../domain/errors.ts';

/** gRPC status codes that this service distinguishes: https://grpc.io/docs/guides/status-codes/. */
const grpcCodes = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  unavailable: 14,
  unauthenticated: 16,
} as const;
export type GrpcCode = keyof typeof grpcCodes;

/** Returns the gRPC error in an error's chain of causes; undefined if there is none. */
export const grpcErrorIn = (error: unknown) => causesOf(error).find(isGrpcServiceError);

/** Whether the error is a gRPC error with one of these codes. */
export function hasGrpcCode(error: unknown, ...codes: readonly GrpcCode[]): boolean {
  const answer = grpcErrorIn(error);
  return answer !== undefined && codes.some((name) => grpcCodes[name] === Number(answer.code));
}

/** Whether Temporal is unavailable, so that no request would succeed. */
export const isTemporalUnavailable = (error: unknown): boolean =>
  // A missing namespace means that Temporal lost its data or is being set up.
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
