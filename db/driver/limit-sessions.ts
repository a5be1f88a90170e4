/** Of pg's pool and clients, what is needed here. */
type Client = {
  query: (text: string) => Promise<unknown>;
  release: (broken?: boolean) => void;
};
type Pool = { connect: () => Promise<Client> };

/**
 * How long the server lets a session of this pool take, in milliseconds. A statement ends there a little before the
 * client gives it up: one that waited for a lock would be carried out later, though its caller was told that it failed.
 * A transaction may be idle for as long as several slow statements take.
 */
const limitsOf = (queryTimeoutMs: number) => ({
  statement_timeout: Math.round(queryTimeoutMs * 0.95),
  idle_in_transaction_session_timeout: 3 * queryTimeoutMs,
});

/**
 * Makes the server end what nobody waits for any more. A machine that is stopped, or loses its power or its network in
 * the middle of a transaction, says nothing: its locks would keep posts from all other workers for hours (TCP's
 * keepalive), and statements that wait for those locks would fill the server's connections.
 *
 * Set on each new connection, as PgBouncer refuses such settings in the startup message. An operator's own limits hold
 * where they are stricter.
 *
 * @param queryTimeoutMs After how long the client gives a statement up.
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

/** Both settings are in milliseconds, and 0 is no limit. */
const setWhereLooser = (name: string, ms: number): string =>
  `select set_config(name, '${ms}', false) from pg_settings
   where name = '${name}' and not setting::int between 1 and ${ms}`;
