/** Of pg's pool and clients, what is needed here. */
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
 * Makes a pool take back a connection that is lost inside of a transaction.
 *
 * Kysely 0.29 gives a transaction's connection back after a commit or a rollback that worked. On a lost connection
 * neither does, so the pool would count it as taken for ever, and after a few such losses have none left, long after
 * the database is back.
 */
export function releaseBrokenConnections(pool: Pool): void {
  pool.on('connect', endWhenSilent);
  const connect = pool.connect.bind(pool);
  pool.connect = async () => {
    const client = await connect();
    const { release } = client;
    // Kysely would throw here without releasing it, and the pool would wait for it and never close.
    if (pool.ending) {
      release(true);
      throw new Error('The pool of connections was closed.');
    }

    let taken = true;
    const giveBack = (broken?: boolean): void => {
      if (taken) {
        taken = false;
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

/** After a statement without an answer a connection is as good as lost; pg alone would use it again. */
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
