import type { ExecutionContext } from 'ava';
import { migrate } from '../../db/migrate.ts';
import { createOrm, type Orm } from '../../db/orm.ts';
import { env } from './env.ts';

/** Makes an empty database of the test's own and drops it when the test is over. */
export async function emptyDatabase(t: ExecutionContext): Promise<string> {
  const server = createOrm(env('PUNCTUAL_TEST_DATABASE_URL'), { poolSize: 1 });
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  await server.em.execute(`create database ${name}`);
  t.teardown(async () => {
    await server.em.execute(`drop database ${name} with (force)`);
    await server.close();
  });

  const url = new URL(env('PUNCTUAL_TEST_DATABASE_URL'));
  url.pathname = `/${name}`;
  return url.href;
}

/** A migrated database of the test's own. */
export async function freshDatabase(t: ExecutionContext): Promise<{ url: string; orm: Orm }> {
  const url = await emptyDatabase(t);
  const orm = createOrm(url, { poolSize: 5 });
  t.teardown(() => orm.close());
  await migrate(orm);
  return { url, orm };
}
