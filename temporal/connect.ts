import { Client, Connection } from '@temporalio/client';
import type { Env } from '../runtime/config/read-values.ts';
import { temporalOptions } from './settings.ts';

export type Temporal = {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
  close(): Promise<void>;
};

/**
 * In milliseconds. Longest wait before a reconnect. gRPC's default backoff grows to two minutes, which would delay the
 * relay that long after Temporal is back.
 */
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

/** @throws ServiceError if Temporal does not respond within `deadlineMs`. */
export const underDeadline = <T>(client: Client, call: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + deadlineMs, call);
