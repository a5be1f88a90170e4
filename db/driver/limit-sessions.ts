/** The parts of pg's pool and client that this needs. */
type Client = {
  query: (text: string) => Promise<unknown>;
  release: (broken?: boolean) => void;
};
type Pool = { connect: () => Promise<Client> };

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
 */
export function limitSessions(pool: Pool, queryTimeoutMs: number): void {
  const settings = Object.entries(limitsOf(queryTimeoutMs))
    .map(([name, ms]) => setWhereLooser(name, ms))
    .join(';');
  const limited = new WeakSet<Client>();
  const connect = pool.connect.bind(pool);
  pool.connect = async () => {
    const client = await connect();
    if (!limited.has(client)) {
      try {
        await client.query(settings);
      } catch (error) {
        client.release(true);
        throw error;
      }

      limited.add(client);
    }

    return client;
  };
}

/** Both settings are in milliseconds; 0 means no limit. */
const setWhereLooser = (name: string, ms: number): string =>
  `select set_config(name, '${ms}', false) from pg_settings
   where name = '${name}' and not setting::int between 1 and ${ms}`;
