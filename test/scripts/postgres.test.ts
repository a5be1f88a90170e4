import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createOrm } from '../../db/orm.ts';
import { startGuard, type Guard } from '../../scripts/parts/guard.ts';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import { freePort } from '../../scripts/ports.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from './temporary-folder.ts';

const test_ = needs('postgres');

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const orm = createOrm(url, { poolSize: 1 });
  try {
    return await orm.em.execute(sql);
  } finally {
    await orm.close();
  }
}

/** Starts PostgreSQL on a folder of the test's own. The guard ends it. */
async function start(t: ExecutionContext, folder: string): Promise<{ url: string; guard: Guard }> {
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const url = await startPostgres(
    {
      cluster: path.join(folder, 'postgres'),
      port: await freePort(),
      password: 'a password',
      database: 'punctual',
      logFile: path.join(folder, 'postgres.log'),
      env: process.env,
      rank: 0,
      settings: { fsync: 'off' },
    },
    { guard, say: () => undefined, signal: new AbortController().signal },
  );
  return { url, guard };
}
