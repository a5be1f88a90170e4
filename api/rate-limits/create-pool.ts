import { Pool } from 'pg';
import { mayPrepare } from '../../db/driver/prepare-statements.ts';
import { databaseConnection } from '../../runtime/config/database-connection.ts';
import type { Logger } from '../../runtime/logger.ts';

/**
 * A few connections for what stands before every call: authentication and rate limits. They are apart
 * from those of the ORM, so that slow calls that hold all of those hold up no refusal, and statements on them are
 * prepared once. Connects lazily, as the ORM does.
 */
export function createPool(
  databaseUrl: string,
  log: Logger,
  { connectTimeoutMs = 3000, queryTimeoutMs = 5000 } = {},
): Pool {
  const pool = new Pool({
    ...databaseConnection(databaseUrl),
    max: 3,
    // In milliseconds. pg drops a connection whose statement failed, and one without an answer is such.
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  if (!mayPrepare(databaseUrl)) {
    pool.on('connect', withoutNames);
  }

  // A connection that breaks while it is idle. The pool has forgotten it by now.
  pool.on('error', ({ name, message }) => log.debug({ name, message }, 'a connection was lost'));
  return pool;
}

/** What is asked by a name is prepared under it. */
function withoutNames(client: { query: (...args: never[]) => unknown }): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = (first: unknown, ...rest: unknown[]) =>
    typeof first === 'object' && first !== null && 'name' in first && !('submit' in first)
      ? query({ ...first, name: undefined }, ...rest)
      : query(first, ...rest);
}
