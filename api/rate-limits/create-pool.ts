import { Pool } from 'pg';
import { mayPrepare } from '../../db/driver/prepare-statements.ts';
import { databaseConnection } from '../../runtime/config/database-connection.ts';
import type { Logger } from '../../runtime/logger.ts';

/**
 * Creates a small pool for authentication and rate limits, separate from the ORM's: calls that hold all of its
 * connections must not delay refusals. Statements on it are prepared once. Connects lazily.
 */
export function createPool(
  databaseUrl: string,
  log: Logger,
  { connectTimeoutMs = 3000, queryTimeoutMs = 5000 } = {},
): Pool {
  const pool = new Pool({
    ...databaseConnection(databaseUrl),
    max: 3,
    // In milliseconds. pg drops a connection whose statement failed or timed out.
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  if (!mayPrepare(databaseUrl)) {
    pool.on('connect', withoutNames);
  }

  // An idle connection that broke. The pool has already removed it.
  pool.on('error', ({ name, message }) =>
    log.debug({ name, message }, 'idle database connection lost'),
  );
  return pool;
}

/** Removes the names of statements, because pg prepares named ones. */
function withoutNames(client: { query: (...args: never[]) => unknown }): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = (first: unknown, ...rest: unknown[]) =>
    typeof first === 'object' && first !== null && 'name' in first && !('submit' in first)
      ? query({ ...first, name: undefined }, ...rest)
      : query(first, ...rest);
}
