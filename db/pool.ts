import { createHash } from 'node:crypto';

/** The parts of pg's pool and client that this needs. */
type Client = {
  query: (...args: unknown[]) => unknown;
  release: (broken?: boolean) => void;
  end: () => Promise<void>;
  once: (event: 'end', listener: () => void) => unknown;
  off: (event: 'end', listener: () => void) => unknown;
};
export type Pool = {
  readonly ending: boolean;
  connect: () => Promise<Client>;
  on: (event: 'connect', listener: (client: Client) => void) => unknown;
};

/**
 * Returns a connection that is lost within a transaction to its pool.
 *
 * Kysely 0.29 releases a transaction's connection only after a successful commit or rollback. On a lost connection both
 * fail, so the pool would count it as in use forever and run out of connections after a few such losses.
 */
export function releaseBrokenConnections(pool: Pool): void {
  const connect = pool.connect.bind(pool);
  pool.connect = async () => {
    const client = await connect();
    const { release } = client;
    // Kysely throws here without releasing the connection, so the pool would never finish closing.
    if (pool.ending) {
      release(true);
      throw new Error('The pool of connections was closed.');
    }

    let isCheckedOut = true;
    const giveBack = (broken?: boolean): void => {
      if (isCheckedOut) {
        isCheckedOut = false;
        client.off('end', lost);
        release(broken);
      }
    };
    const lost = (): void => giveBack(true);
    client.once('end', lost);
    client.release = giveBack;
    return client;
  };
}

/**
 * Server-side limits of a session, in milliseconds. A statement times out on the server slightly before the client
 * gives up: otherwise one that waited for a lock could run later, after its caller got an error. A transaction may be
 * idle for as long as several slow statements take.
 */
const limitsOf = (queryTimeoutMs: number) => ({
  statement_timeout: Math.round(queryTimeoutMs * 0.95),
  idle_in_transaction_session_timeout: 3 * queryTimeoutMs,
});

/**
 * Makes the server end abandoned statements and transactions. If a machine stops or loses its network within a
 * transaction, its locks would otherwise block posts of all workers for hours (TCP keepalive), and statements waiting
 * for them would use up the server's connections.
 *
 * Set on each new connection, because PgBouncer refuses such settings in the startup message. Stricter limits of an
 * operator stay in force.
 *
 * @param queryTimeoutMs The client's statement timeout.
 * @returns the `onConnect` of a pool.
 */
export const limitSession =
  (queryTimeoutMs: number) =>
  async (client: Client): Promise<void> => {
    const limits = Object.entries(limitsOf(queryTimeoutMs));
    const settings = [...limits.map(([name, ms]) => setWhereLooser(name, ms)), oneProcess];
    await client.query(settings.join(';'));
  };

/** Without parallel workers, which take processors from other calls. For a page of a list they read twice the rows. */
const oneProcess = `set max_parallel_workers_per_gather = 0`;

/**
 * Sets a limit where the operator set none (0) or a longer one. Compares intervals, because `current_setting` returns a
 * unit (`20s`). `pg_settings` has numbers, but a query on it takes 2 ms.
 */
const setWhereLooser = (name: string, ms: number): string =>
  `select set_config('${name}', '${ms}', false)
   where current_setting('${name}')::interval not between '1 ms' and '${ms} ms'`;

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
 * Adapts the statements of each connection of a pool.
 *
 * - Those of `prepareAlways` are prepared: PostgreSQL parses and plans them once per connection, not at every call.
 * - After a query timeout the connection is closed; pg would use it again.
 */
export function adaptStatements(pool: Pool, prepares: boolean): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client);
    client.query = (text, values, ...more) => {
      const hasValues = prepares && Array.isArray(values) && values.length > 0;
      const name = hasValues && typeof text === 'string' ? names.get(text) : undefined;
      const answer =
        name === undefined ? query(text, values, ...more) : query({ name, text, values }, ...more);
      if (answer instanceof Promise) {
        answer.catch((error: unknown) => {
          if (error instanceof Error && error.message === 'Query read timeout') {
            void client.end();
          }
        });
      }

      return answer;
    };
  });
}
