import path from 'node:path';
import { migrate } from '../../../db/migrate.ts';
import { createOrm } from '../../../db/orm.ts';
import type { Stage } from '../../../scripts/parts/part.ts';
import { startPostgres } from '../../../scripts/parts/postgres.ts';
import { freePort } from '../../../scripts/ports.ts';
import type { TestService } from './test-service.ts';

/** Each test file has pools of its own, and a file runs on each core. */
const connections = '300';

/**
 * A PostgreSQL for this run alone, which forgets everything at a crash and is the faster for it.
 *
 * @throws Error with the reason when it cannot be had.
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
    // Tests provoke errors on purpose, which need not be shown.
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

/** A migrated database that those of tests are copies of: a thousand times the same migrations took minutes. */
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
