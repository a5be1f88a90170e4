import { isGrpcServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { causesOf } from '../domain/errors.ts';

/** gRPC's status codes, as far as this service tells them apart: https://grpc.io/docs/guides/status-codes/. */
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

/** The answer of Temporal that an error is, or that caused it. Undefined for an error of another kind. */
export const grpcErrorIn = (error: unknown) => causesOf(error).find(isGrpcServiceError);

/** Whether Temporal's answer had one of these codes. */
export function hasGrpcCode(error: unknown, ...codes: readonly GrpcCode[]): boolean {
  const answer = grpcErrorIn(error);
  return answer !== undefined && codes.some((name) => grpcCodes[name] === Number(answer.code));
}

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
