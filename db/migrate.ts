import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

/** Any number that no other program uses as an advisory lock in this database. */
const migrationLock = 7_203_118_446;

/**
 * Brings the database to this version's schema. Safe when several processes start at once: the first one
 * migrates, the others wait for its lock and find nothing left to do.
 */
export async function migrate(orm: Orm): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    // This transaction is idle while the migrations are made, on a connection of their own.
    await query(em, sql`set local idle_in_transaction_session_timeout = 0`);
    await query(em, sql`select pg_advisory_xact_lock(${migrationLock})`);
    await orm.migrator.up();
  });
}
