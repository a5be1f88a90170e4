import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { isReplaced, migrations } from './migrations/index.ts';
import { createOrm, type Em, type Orm } from './orm.ts';
import { isContended, query } from './query.ts';

/** Arbitrary key of an advisory lock that no other program uses in this database. */
const migrationLock = 7_203_118_446;

/** The database's schema is not this version's. */
export class OtherSchemaError extends Error {
  override readonly name = 'OtherSchemaError';
}

async function schemaState(em: Em) {
  const [table] = await query(
    em,
    sql<{ exists: boolean }>`select to_regclass('migrations') is not null as exists`,
  );
  const rows = table?.exists
    ? await query(em, sql<{ name: string }>`select name from migrations order by id`)
    : [];
  const applied = new Set(rows.map(({ name }) => name));
  const known = migrations.map(({ name }) => name);
  const [first = '', second = ''] = known;
  const isBetween = [...applied].some((name) => first < name && name < second);
  return {
    /** Migrations of this version that the database does not have. */
    missing: known.filter((name) => !applied.has(name)),
    /** Applied migrations that this version does not have. */
    unknown: [...applied].filter((name) => !known.includes(name) && !isReplaced(name)),
    /** Commit that has to upgrade it first: it ran some of the migrations that one of these replaces, but not all. */
    upgrader:
      applied.size > 0 && !applied.has(first)
        ? 'ffedd9cb'
        : isBetween && !applied.has(second)
          ? '773fd38f'
          : undefined,
  };
}

function assertUpgradable({ unknown, upgrader }: Awaited<ReturnType<typeof schemaState>>): void {
  if (unknown.length > 0) {
    throw new OtherSchemaError(
      `The database has migrations that this version of Punctual does not know: ${unknown.join(', ')}. A newer version made them. Start that version or a later one. To go back to this version, restore a backup from before the upgrade.`,
    );
  }

  if (upgrader !== undefined) {
    throw new OtherSchemaError(
      `The database is of a version that this version of Punctual cannot upgrade. Start commit ${upgrader} once, which upgrades it, and then this version.`,
    );
  }
}

/** @throws OtherSchemaError if the database's schema is newer or older than this version's. */
export async function assertSchema(orm: Orm): Promise<void> {
  const state = await schemaState(orm.em.fork());
  assertUpgradable(state);
  if (state.missing.length > 0) {
    throw new OtherSchemaError(
      `The database lacks migrations of this version of Punctual: ${state.missing.join(', ')}. Run "npm run admin -- migrate".`,
    );
  }
}

/**
 * Migrates the database to this version's schema, on a connection without statement timeout, since a large table may
 * take hours. Of concurrent processes, the first migrates, and the others wait for its lock.
 *
 * @param onMigration Called with the name of each migration before it runs, also when it runs again after a wait.
 * @throws OtherSchemaError if a newer version has migrated the database, or it is too old.
 */
export async function migrate(
  databaseUrl: string,
  onMigration: (name: string) => void = () => undefined,
): Promise<void> {
  const orm = createOrm(databaseUrl, {
    poolSize: 2, // The migrator reads its table on a second connection.
    connectTimeoutMs: 10_000,
    queryTimeoutMs: null,
  });
  try {
    const state = await schemaState(orm.em.fork());
    assertUpgradable(state);
    if (state.missing.length > 0) {
      await migrateUnderLock(orm, onMigration);
    }
  } finally {
    await orm.close();
  }
}

/** Migrates the database at the start of a process, or only checks its schema. @throws OtherSchemaError */
export const prepareSchema = (
  orm: Orm,
  { databaseUrl, migrates }: { readonly databaseUrl: string; readonly migrates: boolean },
  onMigration: (name: string) => void,
): Promise<void> => (migrates ? migrate(databaseUrl, onMigration) : assertSchema(orm));

/** How long a migration waits for a lock. Calls queue behind it, so it is below the timeout of their statements. */
const lockTimeout = '3s';

/** Lets calls through before the next attempt. */
const pauseMs = 5000;

/** Repeats the migrations while others hold locks, such as a running `pg_dump`. */
async function migrateUnderLock(orm: Orm, onMigration: (name: string) => void): Promise<void> {
  const { migrator } = orm;
  migrator.on('migrating', ({ name }) => onMigration(name));
  const attempt = (): Promise<unknown> =>
    orm.em.fork().transactional(async (em) => {
      // Overrides the limits of a pooler or a role too.
      await query(em, sql`set local statement_timeout = 0`);
      await query(em, sql`set local idle_in_transaction_session_timeout = 0`);
      await query(em, sql`select pg_advisory_xact_lock(${migrationLock})`);
      assertUpgradable(await schemaState(em)); // The previous lock holder may be a newer version.
      await query(em, sql`select set_config('lock_timeout', ${lockTimeout}, true)`);
      await migrator.up({ transaction: em.getTransactionContext() });
    });
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isContended(error)) {
        throw error;
      }

      await sleep(pauseMs);
    }
  }
}
