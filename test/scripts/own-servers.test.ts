import { spawn } from 'node:child_process';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { type ProcessGuard, startGuard } from '../../scripts/parts/guard.ts';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import { freePort } from '../../scripts/ports.ts';
import { cacheFolder, findProgram } from '../../scripts/programs/find-program.ts';
import {
  builtTemporal,
  findTemporal,
  temporalFromGo,
  temporalOnPath,
} from '../../scripts/programs/find-temporal.ts';
import { beforeTests } from '../support/before-tests.ts';
import { needs } from '../support/needs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { programFile } from './program-file.ts';

/** Simulates a machine: its PATH and its cache are empty folders. No test here downloads anything. */
async function machine(t: ExecutionContext) {
  const folder = await temporaryFolder(t);
  const bin = path.join(folder, 'bin');
  const output: string[] = [];
  const env = { PATH: `${bin}${path.delimiter}/bin`, XDG_CACHE_HOME: path.join(folder, 'cache') };
  await mkdir(bin);
  return { bin, env, output, search: { env, say: (line: string) => output.push(line) } };
}

const version = (server: string) =>
  `echo "temporal version 0.0.0-DEV (Server ${server}, UI 2.42.1)"`;

test('a temporal on PATH is used, whatever its own version', async (t) => {
  const { bin, search } = await machine(t);
  const program = await programFile(bin, 'temporal', version('1.29.1'));
  t.is(await findTemporal(search), program);
});

test('a temporal on PATH whose server is too old is skipped in favour of an earlier build', async (t) => {
  const { bin, env, search } = await machine(t);
  await programFile(bin, 'temporal', version('1.24.2'));
  const built = await programFile(cacheFolder(env), builtTemporal, version('1.29.1'));
  t.is(await findTemporal(search), built);
});

test('if Temporal cannot be found, the message lists what was tried and what to install', async (t) => {
  const { search } = await machine(t);
  const error = await t.throwsAsync(
    findProgram('Temporal server', [temporalOnPath, temporalFromGo], search, 'Install something.'),
  );
  t.is(
    error.message,
    [
      'No Temporal server is available.',
      '  temporal on PATH: not found',
      '  built with Go: no go on PATH',
      'Install something.',
    ].join('\n'),
  );
});

const temporalModule = 'github.com/temporalio/cli\tv1.9.1';
const temporalSum = 'h1:8JXIJyo6H5UPjdw0PSoizOZvlcEEy2R3UBfRD5Obju0=';

/** A `go` that builds a program from these modules, and has one more in the module's own go.sum. */
async function fakeGo(bin: string, built: readonly string[]): Promise<void> {
  const modules = path.join(bin, 'modules');
  const sums = path.join(modules, 'github.com', 'temporalio', 'cli@v1.9.1');
  await mkdir(sums, { recursive: true });
  await writeFile(path.join(sums, 'go.sum'), 'example.com/known v1.0.0 h1:known=\n');
  const lines = [`${bin}/temporal: go1.26.8`, ...built.map((line) => `\t${line}`), ''];
  await writeFile(path.join(bin, 'built'), lines.join('\n'));
  await programFile(
    bin,
    'go',
    `case $1 in
      install) echo "#!/bin/sh" > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal" ;;
      version) cat "${path.join(bin, 'built')}" ;;
      env) echo "${modules}" ;;
    esac`,
  );
}

test('a build reports its progress, and the next start finds it', async (t) => {
  const { bin, output, search } = await machine(t);
  await fakeGo(bin, [
    `mod\t${temporalModule}\t${temporalSum}`,
    'dep\texample.com/known\tv1.0.0\th1:known=',
  ]);
  const built = await temporalFromGo.find(search);
  t.deepEqual(built, { path: await findTemporal(search) });
  t.regex(output.join(), /Building Temporal 1\.9\.1 with Go/v);
});

test("a module from the registry is used only if it has the repository's checksum", async (t) => {
  const main = `mod\t${temporalModule}\t${temporalSum}`;
  for (const [built, reason] of [
    [[`mod\t${temporalModule}\th1:another=`], /^Go built .* h1:another=, not /v],
    [[main, 'dep\texample.com/known\tv1.0.0\th1:another='], /known v1\.0\.0 h1:another=, which/v],
    [[main, 'dep\texample.com/other\tv1.0.0\th1:known='], /other v1\.0\.0 h1:known=, which/v],
  ] as const) {
    const { bin, env, search } = await machine(t);
    await fakeGo(bin, built);
    const found = await temporalFromGo.find(search);
    t.regex('reason' in found ? found.reason : '', reason);
    t.deepEqual(await readdir(cacheFolder(env)), []);
  }
});

const postgresTest = needs('postgres');

/**
 * One data folder of PostgreSQL for all tests, because creating it takes longest: so the tests are serial. The folder
 * next to it is the remains of an interrupted set-up.
 */
const cluster = beforeTests(postgresTest, async (scope) => {
  const folder = path.join(await temporaryFolder(scope), 'postgres');
  await mkdir(`${folder}.new`);
  await writeFile(path.join(`${folder}.new`, 'PG_VERSION'), '18');
  return folder;
});

/** Starts PostgreSQL on the data in `folder`. The test's end stops it, unless the test does. */
async function start(
  t: ExecutionContext,
  folder = cluster(),
): Promise<{ url: string; guard: ProcessGuard }> {
  const guard = startGuard();
  t.teardown(() => guard.endAll());
  const url = await startPostgres(
    {
      cluster: folder,
      port: await freePort(),
      password: 'a-password',
      database: 'punctual',
      logFile: `${folder}.log`,
      env: { ...process.env, SECRET_KEY: 'not for PostgreSQL', DATABASE_URL: 'nor this' },
      rank: 0,
      settings: { fsync: 'off' },
    },
    { guard, say: () => undefined, signal: new AbortController().signal },
  );
  return { url, guard };
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

postgresTest.serial('an interrupted set-up starts again from the beginning', async (t) => {
  const { url } = await start(t);
  t.deepEqual(await ask(url, 'select current_database() as name'), [{ name: 'punctual' }]);
});

postgresTest.serial("PostgreSQL's process gets no secret and no setting of ours", async (t) => {
  const { url } = await start(t);
  const pid = (await readFile(path.join(cluster(), 'postmaster.pid'), 'utf8')).split('\n')[0];
  if (process.platform === 'linux') {
    t.notRegex(await readFile(`/proc/${pid}/environ`, 'utf8'), /SECRET_KEY|DATABASE_URL/v);
  }

  t.deepEqual(await ask(url, 'select 1 as one'), [{ one: 1 }]);
});

postgresTest.serial('text sorts by code point on every machine', async (t) => {
  const { url } = await start(t);
  const sorted =
    "select string_agg(word, '' order by word) as words from unnest('{b,A,ä,a}'::text[]) word";
  t.deepEqual(await ask(url, sorted), [{ words: 'Aabä' }]);
});

postgresTest.serial(
  'a killed PostgreSQL starts again, also when another process has its old process id',
  async (t) => {
    await start(t);
    const file = path.join(cluster(), 'postmaster.pid');
    const text = await readFile(file, 'utf8');
    const pid = text.split('\n')[0] ?? '';
    process.kill(Number(pid), 'SIGKILL');

    // Runs as the same user as PostgreSQL, which ignores processes of other users.
    const { uid, gid } = await stat(cluster());
    const other = spawn('sleep', ['60'], process.getuid?.() === 0 ? { uid, gid } : {});
    t.teardown(() => other.kill('SIGKILL'));
    await writeFile(file, text.replace(pid, String(other.pid)));

    const { url } = await start(t);
    t.deepEqual(await ask(url, 'select 1 as one'), [{ one: 1 }]);
  },
);

postgresTest(
  'the data of another PostgreSQL version is not touched, and the message says what to do',
  async (t) => {
    const folder = path.join(await temporaryFolder(t), 'postgres');
    await mkdir(folder);
    await writeFile(path.join(folder, 'PG_VERSION'), '16\n');
    const error = await t.throwsAsync(start(t, folder));
    t.regex(error.message, /was made by PostgreSQL 16, and this is PostgreSQL 18\. Move it away/v);
  },
);
