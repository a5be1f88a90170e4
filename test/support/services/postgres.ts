import path from 'node:path';
import { migrate } from '../../../db/migrate.ts';
import { createOrm } from '../../../db/orm.ts';
import type { Stage } from '../../../scripts/parts/part.ts';
import { startPostgres } from '../../../scripts/parts/postgres.ts';
import { freePort } from '../../../scripts/ports.ts';
import type { TestService } from './test-service.ts';

/** Each test file has its own pools, and one file runs per core. */
const connections = '300';

/**
 * Starts a PostgreSQL for this run only. It is faster because it does not survive a crash.
 *
 * @throws Error with the reason when it cannot start.
 */
export async function startTestPostgres(folder: string, stage: Stage): Promise<TestService> {
  const logFile = path.join(folder, 'postgres.log');
  const url = await startPostgres(
    {
      cluster: path.join(folder, 'postgres'),
      port: await freePort(),
      password: crypto.randomUUID(),
      database: 'postgres',
      logFile,
      env: process.env,
      rank: 1,
      settings: {
        fsync: 'off',
        full_page_writes: 'off',
        synchronous_commit: 'off',
        max_connections: connections,
      },
    },
    // Tests provoke errors on purpose; these need not be shown.
    { ...stage, say: () => undefined },
  );
  const template = await makeTemplate(url);
  return {
    env: {
      PUNCTUAL_TEST_DATABASE_URL: url,
      PUNCTUAL_TEST_TEMPLATE: template,
      PUNCTUAL_TEST_POSTGRES_LOG: logFile,
    },
    stop: async () => undefined,
  };
}

/**
 * A migrated database, which the tests' databases are copies of: running the migrations a thousand times took minutes.
 */
async function makeTemplate(server: string): Promise<string> {
  const name = 'migrated';
  const onServer = createOrm(server, { poolSize: 1 });
  await onServer.em.execute(`create database ${name}`);
  await onServer.close();
  const url = new URL(server);
  url.pathname = `/${name}`;
  await migrate(url.href);
  return name;
}
