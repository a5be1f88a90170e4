import { Pool } from 'pg';
import type { Logger } from '../../runtime/logger.ts';

/**
 * A few connections for what stands before every call: whose key is it, and how often did it call. They are apart
 * from those of the ORM, so that slow calls that hold all of those hold up no refusal, and statements on them are
 * prepared once. Connects lazily, as the ORM does.
 */
export function createPool(
  connectionString: string,
  log: Logger,
  { connectTimeoutMs = 3000, queryTimeoutMs = 5000 } = {},
): Pool {
  const pool = new Pool({
    connectionString,
    max: 3,
    // In milliseconds. pg drops a connection whose statement failed, and one without an answer is such.
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
  });
  // A connection that breaks while nobody uses it. The pool has forgotten it by now.
  pool.on('error', ({ name, message }) => log.debug({ name, message }, 'a connection was lost'));
  return pool;
}
