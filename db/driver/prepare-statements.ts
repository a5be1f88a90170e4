import { createHash } from 'node:crypto';

/** Of pg's pool and clients, what is needed here. */
type Client = { query: (...args: unknown[]) => unknown };
type Pool = { on: (event: 'connect', listener: (client: Client) => void) => unknown };

/** Names by text, of those of `query` alone: they are constants and not many, while the ORM makes texts without end. */
const names = new Map<string, string>();

/** A bound for a mistake, such as a text for each length of a list: every connection keeps what it prepared. */
const mostPrepared = 2000;

/**
 * Whether statements may be prepared on connections to this address. Not with `?prepare=no`, which is for poolers that
 * hand a connection to another client after each transaction and do not keep track of what is prepared on it, as
 * PgBouncer before 1.21.
 */
export const mayPrepare = (databaseUrl: string): boolean =>
  !databaseUrl.split('?').slice(1).join().split('&').includes('prepare=no');

/**
 * From now on a text is prepared wherever it is sent with values. Its name is made of the text, so that all processes
 * that share a connection through a pooler mean the same by it.
 */
export function prepareAlways(text: string): void {
  if (!names.has(text) && names.size < mostPrepared) {
    names.set(text, createHash('sha256').update(text).digest('base64url').slice(0, 22));
  }
}

/**
 * Makes every connection of a pool prepare the statements that are to be (`prepareAlways`): PostgreSQL parses and plans
 * each of them once for a connection, and not at every call.
 */
export function prepareStatements(pool: Pool): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client);
    client.query = (text, values, ...more) => {
      const name = typeof text === 'string' ? names.get(text) : undefined;
      return name !== undefined && Array.isArray(values) && values.length > 0
        ? query({ name, text, values }, ...more)
        : query(text, values, ...more);
    };
  });
}
