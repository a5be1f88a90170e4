import { sql } from 'kysely';
import { migrations } from './migrations/index.ts';
import { createOrm, type Em, type Orm } from './orm.ts';
import { query } from './query.ts';

/** Any number that no other program uses as an advisory lock in this database. */
const migrationLock = 7_203_118_446;

/** The schema of a database that this version cannot work with. */
export class OtherSchemaError extends Error {
  override readonly name = 'OtherSchemaError';
}

type SchemaState = {
  /** Migrations of this version that the database does not have. */
  readonly missing: readonly string[];
  /** Migrations of the database that this version does not know. */
  readonly unknown: readonly string[];
};

async function schemaState(em: Em): Promise<SchemaState> {
  const [table] = await query(
    em,
    sql<{ exists: boolean }>`select to_regclass('migrations') is not null as exists`,
  );
  const rows = table?.exists
    ? await query(em, sql<{ name: string }>`select name from migrations order by id`)
    : [];
  const applied = new Set(rows.map(({ name }) => name));
  const known = migrations.map(({ name }) => name);
  return {
    missing: known.filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.includes(name)),
  };
}

function assertNotNewer({ unknown }: SchemaState): void {
  if (unknown.length > 0) {
    throw new OtherSchemaError(
      `The database has migrations that this version of Punctual does not know: ${unknown.join(', ')}. A newer version made them. Start that version or a later one. To go back to this version, restore a backup from before the upgrade.`,
    );
  }
}

/** @throws OtherSchemaError when the database has another schema than this version, newer or older. */
export async function assertSchema(orm: Orm): Promise<void> {
  const state = await schemaState(orm.em.fork());
  assertNotNewer(state);
  if (state.missing.length > 0) {
    throw new OtherSchemaError(
      `The database lacks migrations of this version of Punctual: ${state.missing.join(', ')}. Run "npm run admin -- migrate".`,
    );
  }
}

/**
 * Brings the database to this version's schema. Safe when several processes start at once: the first one
 * migrates, the others wait for its lock and find nothing left to do.
 *
 * The connection is its own: on those of the product a statement that takes longer than 20 s is cut off, and a
 * migration of a large table may take hours.
 *
 * @param onMigration Is told the name of each migration before it runs.
 * @throws OtherSchemaError when a newer version has migrated the database.
 */
export async function migrate(
  databaseUrl: string,
  onMigration: (name: string) => void = () => undefined,
): Promise<void> {
  const orm = createOrm(databaseUrl, {
    poolSize: 2, // The migrator looks for its table on another connection.
    connectTimeoutMs: 10_000,
    queryTimeoutMs: null,
  });
  try {
    const state = await schemaState(orm.em.fork());
    assertNotNewer(state);
    if (state.missing.length > 0) {
      await migrateUnderLock(orm, onMigration);
    }
  } finally {
    await orm.close();
  }
}

async function migrateUnderLock(orm: Orm, onMigration: (name: string) => void): Promise<void> {
  const { migrator } = orm;
  migrator.on('migrating', ({ name }) => onMigration(name));
  await orm.em.fork().transactional(async (em) => {
    // A pooler's and a role's limits, too.
    await query(em, sql`set local statement_timeout = 0`);
    await query(em, sql`set local idle_in_transaction_session_timeout = 0`);
    await query(em, sql`select pg_advisory_xact_lock(${migrationLock})`);
    assertNotNewer(await schemaState(em)); // The process before may have been a newer version.
    await migrator.up({ transaction: em.getTransactionContext() });
  });
}
