/** The parts of pg's pool and client that this needs. */
type Client = {
  release: (broken?: boolean) => void;
  query: (...args: unknown[]) => unknown;
  end: () => Promise<void>;
  once: (event: 'end', listener: () => void) => unknown;
  off: (event: 'end', listener: () => void) => unknown;
};
type Pool = {
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
  pool.on('connect', endWhenSilent);
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

/** Closes a connection after a query timeout; pg would use it again. */
function endWhenSilent(client: Client): void {
  const query = client.query.bind(client);
  client.query = (...args) => {
    const answer = query(...args);
    if (answer instanceof Promise) {
      answer.catch((error: unknown) => {
        if (error instanceof Error && error.message === 'Query read timeout') {
          void client.end();
        }
      });
    }

    return answer;
  };
}
