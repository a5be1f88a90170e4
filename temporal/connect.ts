import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { causesOf } from '../domain/errors.ts';
import type { Env } from '../runtime/config/settings.ts';
import { temporalOptions } from './settings.ts';

export type Temporal = {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
  close(): Promise<void>;
};

/** Longest wait before a reconnect, in milliseconds. gRPC's default grows to two minutes. */
const reconnectMs = 500;

/** Connects lazily, so that a process can start while Temporal is unavailable. */
export function connectTemporal(env: Env = process.env): Temporal {
  const { connectionOptions, namespace } = temporalOptions(env);
  const connection = Connection.lazy({
    ...connectionOptions,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': reconnectMs },
  });
  const client = new Client({ connection, namespace });
  return { client, connection, namespace, close: () => connection.close() };
}

/** In milliseconds. Without a deadline a call hangs for 19 s if the server is unavailable. */
export const deadlineMs = 2000;

export const underDeadline = <T>(client: Client, call: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + deadlineMs, call);

/** gRPC status codes that this service distinguishes: https://grpc.io/docs/guides/status-codes/. */
const grpcCodes = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const;
export type GrpcCode = keyof typeof grpcCodes;

/** Returns the gRPC error in an error's chain of causes; undefined if there is none. */
export const grpcErrorIn = (error: unknown) => causesOf(error).find(isGrpcServiceError);

export function hasGrpcCode(error: unknown, ...codes: readonly GrpcCode[]): boolean {
  const answer = grpcErrorIn(error);
  return answer !== undefined && codes.some((name) => grpcCodes[name] === Number(answer.code));
}

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
