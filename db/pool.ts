import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

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
  readonly totalCount: number;
  connect: () => Promise<Client>;
  on: (event: 'connect', listener: (client: Client) => void) => unknown;
};

/**
 * Returns a connection that is lost within a transaction to its pool: Kysely 0.29 releases it only after a successful
 * commit or rollback.
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

/** SQLSTATE: the server has no connection left. */
const noneLeft = '53300';

/**
 * While the server refuses new connections, waits for a free one of the pool. Otherwise the read for an answer, which
 * needs a second connection beside the sync, could fail after the commit: the caller would get 503 and repeat the call.
 */
export function shareConnections(pool: Pool, waitMs: number): void {
  const connect = pool.connect.bind(pool);
  pool.connect = async () => {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      try {
        return await connect();
      } catch (error) {
        const isRefused = error instanceof Error && 'code' in error && error.code === noneLeft;
        if (!isRefused || pool.totalCount === 0 || performance.now() > untilMs) {
          throw error;
        }
      }

      await sleep(100);
    }
  };
}

/**
 * Makes the server end abandoned statements and transactions, whose locks would block posts for hours when a machine
 * stops. A statement times out on the server slightly before the client gives up: one that waited for a lock could run
 * after its caller got an error. Set on each new connection, because PgBouncer refuses such settings in the startup
 * message.
 *
 * @param queryTimeoutMs The client's statement timeout.
 * @returns the `onConnect` of a pool.
 */
export const limitSession =
  (queryTimeoutMs: number) =>
  async (client: Client): Promise<void> => {
    await client.query(`set statement_timeout = ${Math.round(queryTimeoutMs * 0.95)};
      set idle_in_transaction_session_timeout = ${3 * queryTimeoutMs};
      set max_parallel_workers_per_gather = 0 -- They take processors from other calls, and read twice the rows.`);
  };

/** Names by text, only for `query`: the ORM generates unlimited texts. */
const names = new Map<string, string>();

/** Every connection keeps its prepared statements. */
const mostPrepared = 2000;

/** `?prepare=no` is for poolers that do not track prepared statements, such as PgBouncer before 1.21. */
export const mayPrepare = (databaseUrl: string): boolean =>
  !databaseUrl.split('?').slice(1).join().split('&').includes('prepare=no');

/** Prepares a text whenever it is sent with values. Processes that share a connection through a pooler agree on its name. */
export function prepareAlways(text: string): void {
  if (!names.has(text) && names.size < mostPrepared) {
    names.set(text, createHash('sha256').update(text).digest('base64url').slice(0, 22));
  }
}

/** Prepares the statements of `prepareAlways`, and closes a connection after a query timeout; pg would use it again. */
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
