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
 * How long a lost connection waits at most before it is tried again, in milliseconds. gRPC's own waits grow to
 * two minutes, and for so long the relay would reach nobody after Temporal is back.
 */
const reconnectMs = 500;

/** Connects lazily: a process starts, and serves what it can, while Temporal is away. */
export function connectTemporal(env: Env = process.env): Temporal {
  const { connectionOptions, namespace } = temporalOptions(env);
  const connection = Connection.lazy({
    ...connectionOptions,
    channelArgs: { 'grpc.max_reconnect_backoff_ms': reconnectMs },
  });
  const client = new Client({ connection, namespace });
  return { client, connection, namespace, close: () => connection.close() };
}

/** Without a deadline a call hangs 19 s when the server is away. In milliseconds. */
export const deadlineMs = 2000;

/** @throws ServiceError when Temporal has not answered by then. */
export const underDeadline = <T>(client: Client, call: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + deadlineMs, call);
