import { createHash } from 'node:crypto';

/** Of pg's pool and clients, what is needed here. */
type Client = { query: (...args: unknown[]) => unknown };
type Pool = { on: (event: 'connect', listener: (client: Client) => void) => unknown };

/** Names by text. Only `ask` has values apart from its text, and its texts are constants, so they are not many. */
const names = new Map<string, string>();

/**
 * Whether statements may be prepared on connections to this address. Not with `?prepare=no`, which is for poolers that
 * hand a connection to another client after each transaction and do not keep track of what is prepared on it, as
 * PgBouncer before 1.21.
 */
export const mayPrepare = (databaseUrl: string): boolean =>
  !databaseUrl.split('?').slice(1).join().split('&').includes('prepare=no');

/**
 * Makes every connection of a pool prepare the statements that come with values: PostgreSQL parses and plans each of
 * them once for a connection, and not at every call.
 */
export function prepareStatements(pool: Pool): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client);
    client.query = (text, values, ...more) =>
      typeof text === 'string' && Array.isArray(values) && values.length > 0
        ? query({ name: nameOf(text), text, values }, ...more)
        : query(text, values, ...more);
  });
}

/** By its text, so that all processes that share a connection through a pooler mean the same by a name. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22);
    names.set(text, name);
  }

  return name;
}
