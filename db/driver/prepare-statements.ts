import { createHash } from 'node:crypto';

/** The parts of pg's pool and client that this needs. */
type Client = { query: (...args: unknown[]) => unknown };
type Pool = { on: (event: 'connect', listener: (client: Client) => void) => unknown };

/** Names by text, only for `query`: its texts are few constants, while the ORM generates unlimited ones. */
const names = new Map<string, string>();

/** Guards against a mistake such as one text per length of a list: every connection keeps its prepared statements. */
const mostPrepared = 2000;

/**
 * Whether statements may be prepared on this URL. `?prepare=no` is for poolers that share a connection between clients
 * per transaction and do not track prepared statements, such as PgBouncer before 1.21.
 */
export const mayPrepare = (databaseUrl: string): boolean =>
  !databaseUrl.split('?').slice(1).join().split('&').includes('prepare=no');

/**
 * Prepares a text whenever it is sent with values. The name is a hash of the text, so that all processes that share a
 * connection through a pooler agree on it.
 */
export function prepareAlways(text: string): void {
  if (!names.has(text) && names.size < mostPrepared) {
    names.set(text, createHash('sha256').update(text).digest('base64url').slice(0, 22));
  }
}

/**
 * Prepares the statements of `prepareAlways` on each connection of a pool. PostgreSQL then parses and plans them once
 * per connection, not at every call.
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
