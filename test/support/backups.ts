import type { ExecutionContext } from 'ava';
import { isDatabaseUnavailable } from '../../db/database-errors.ts';
import { createOrm } from '../../db/orm.ts';
import { patience } from './database.ts';
import { env } from './env.ts';
import type { Punctual } from './punctual.ts';

/** Copies and restores a database, as a backup does, over a connection to the server's default database. */
export async function backups(t: ExecutionContext, { databaseUrl }: Pick<Punctual, 'databaseUrl'>) {
  const server = createOrm(env('PUNCTUAL_TEST_DATABASE_URL'), { poolSize: 1, ...patience });
  const run = (sql: string): Promise<unknown> => server.em.fork().execute(sql);
  const name = new URL(databaseUrl).pathname.slice(1);
  const copy = `${name}_copy`;
  t.teardown(async () => {
    await run(`drop database if exists ${copy} with (force)`);
    await server.close();
  });
  return {
    /** No client may be connected meanwhile: its connection would fail. */
    take: async (): Promise<void> => {
      await run(`drop database if exists ${copy} with (force)`);
      await run(`alter database ${name} with allow_connections false`);
      await run(
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
      );
      await run(`create database ${copy} template ${name}`);
      await run(`alter database ${name} with allow_connections true`);
    },
    putBack: async (): Promise<void> => {
      await run(`drop database ${name} with (force)`);
      await run(`create database ${name} template ${copy}`);
    },
  };
}

export function nullWhileAway(error: unknown): null {
  if (isDatabaseUnavailable(error)) {
    return null;
  }

  throw error;
}
