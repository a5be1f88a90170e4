import { spawn } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { createOrm } from '../../db/orm.ts';
import { startGuard, type Guard } from '../../scripts/parts/guard.ts';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import { freePort } from '../../scripts/ports.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const test = needs('postgres');

/** Starts PostgreSQL on the data in `cluster`. The test's end ends it, unless the test does. */
async function start(t: ExecutionContext, cluster: string): Promise<{ url: string; guard: Guard }> {
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const url = await startPostgres(
    {
      cluster,
      port: await freePort(),
      password: 'a-password',
      database: 'punctual',
      logFile: `${cluster}.log`,
      env: process.env,
      rank: 0,
      settings: { fsync: 'off' },
    },
    { guard, say: () => undefined, signal: new AbortController().signal },
  );
  return { url, guard };
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const orm = createOrm(url, { poolSize: 1 });
  try {
    return await orm.em.execute(sql);
  } finally {
    await orm.close();
  }
}

const postmasterPid = async (cluster: string): Promise<string> => {
  const text = await readFile(path.join(cluster, 'postmaster.pid'), 'utf8');
  return text.split('\n')[0] ?? '';
};

test('what was stored is there after a stop and another start', async (t) => {
  const cluster = path.join(await temporaryFolder(t), 'postgres');
  const first = await start(t, cluster);
  await ask(first.url, 'create table notes (text text)');
  await ask(first.url, "insert into notes values ('kept')");
  t.deepEqual(await first.guard.endAll(), []);
  const second = await start(t, cluster);
  t.deepEqual(await ask(second.url, 'select text from notes'), [{ text: 'kept' }]);
});

test('text sorts by code point on every machine', async (t) => {
  const { url } = await start(t, path.join(await temporaryFolder(t), 'postgres'));
  const sorted =
    "select string_agg(word, '' order by word) as words from unnest('{b,A,ä,a}'::text[]) word";
  t.deepEqual(await ask(url, sorted), [{ words: 'Aabä' }]);
});

test('a killed PostgreSQL starts again, also when another process has been given its number', async (t) => {
  const cluster = path.join(await temporaryFolder(t), 'postgres');
  await start(t, cluster);
  const pid = await postmasterPid(cluster);
  process.kill(Number(pid), 'SIGKILL');

  // Of the same user as PostgreSQL: of others it knows that they cannot be it.
  const { uid, gid } = await stat(cluster);
  const other = spawn('sleep', ['60'], process.getuid?.() === 0 ? { uid, gid } : {});
  t.teardown(() => other.kill('SIGKILL'));
  const file = path.join(cluster, 'postmaster.pid');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(pid, String(other.pid)));

  const { url } = await start(t, cluster);
  t.deepEqual(await ask(url, 'select 1 as one'), [{ one: 1 }]);
});

test('a set-up that was cut off is begun anew', async (t) => {
  const cluster = path.join(await temporaryFolder(t), 'postgres');
  await mkdir(`${cluster}.new`);
  await writeFile(path.join(`${cluster}.new`, 'PG_VERSION'), '18');
  const { url } = await start(t, cluster);
  t.deepEqual(await ask(url, 'select current_database() as name'), [{ name: 'punctual' }]);
});

test('the data of another version of PostgreSQL is left alone, and the way out is named', async (t) => {
  const cluster = path.join(await temporaryFolder(t), 'postgres');
  await mkdir(cluster);
  await writeFile(path.join(cluster, 'PG_VERSION'), '16\n');
  const error = await t.throwsAsync(start(t, cluster));
  t.regex(error.message, /was made by PostgreSQL 16, and this is PostgreSQL 18\. Move it away/v);
});
