import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { startApp, type Restarts } from '../../scripts/parts/app.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { Part } from '../../scripts/parts/part.ts';
import { startApiProcess } from '../support/api-process.ts';
import { noTemporal } from '../support/media-library.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Starts a program of the test's own as `npm start` starts the API. */
async function started(t: ExecutionContext, program: string, restarts: Restarts) {
  const folder = await temporaryFolder(t);
  await writeFile(path.join(folder, 'main.mjs'), program);
  const guard = startGuard();
  const over = new AbortController();
  const lines: string[] = [];
  const ends: string[] = [];
  t.teardown(async () => {
    over.abort();
    await guard.endAll();
  });
  const stage = {
    guard,
    say: (line: string) => void lines.push(line),
    signal: over.signal,
    onEnd: (part: Part, how: string) => void ends.push(`${part.name}: ${how}`),
  };
  const logFile = path.join(folder, 'app.log');
  const plan = { name: 'api', main: 'main.mjs', env: {}, logFile, rank: 0, graceMs: 1000 };
  const part = await startApp(plan, folder, stage, restarts);
  const starts = async (): Promise<number> =>
    (await readFile(logFile, 'utf8')).split('\n').filter((line) => line === 'up').length;
  return { part, lines, ends, starts, over };
}

const runs = `console.log('up'); setInterval(() => {}, 1000);`;

test('a part of npm start that crashes is started again, and its last words are shown', async (t) => {
  const { part, lines, ends, starts } = await started(t, runs, { hasStarted: () => true });
  await poll(starts, (count) => count === 1);
  process.kill(part.pid, 'SIGKILL');

  await poll(starts, (count) => count === 2);
  t.is(lines.length, 1);
  t.regex(
    lines[0] ?? '',
    /^api ended \(signal SIGKILL\)\.\n\s+up\n[\s\S]+api is started again\.$/v,
  );
  t.deepEqual(ends, []);
});

test('a part that does not start ends npm start, and is not tried for ever', async (t) => {
  const { ends, starts } = await started(t, `console.log('up'); process.exit(3);`, {
    hasStarted: () => false,
  });

  await poll(
    async () => ends,
    ({ length }) => length > 0,
  );
  t.deepEqual(ends, ['api: exit code 3']);
  t.is(await starts(), 1);
});

test('a part that crashes again and again ends npm start after the last of its starts', async (t) => {
  const { ends, starts } = await started(t, `console.log('up'); process.exit(4);`, {
    hasStarted: () => true,
    steadyMs: 60_000,
    waitsMs: [10, 20],
  });

  await poll(
    async () => ends,
    ({ length }) => length > 0,
  );
  t.deepEqual(ends, ['api: exit code 4']);
  t.is(await starts(), 3);
});

test('a part that ends because everything ends is not started again', async (t) => {
  const { part, ends, starts, over } = await started(t, runs, { hasStarted: () => true });
  await poll(starts, (count) => count === 1);
  over.abort();
  process.kill(part.pid);
  await part.ended;
  await poll(
    async () => ends,
    ({ length }) => length > 0,
  );

  t.is(await starts(), 1);
});

const settings = {
  ...noTemporal,
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  SECRET_KEY: 'ab'.repeat(32),
};

/** A module that Node loads before the program, which waits for SIGUSR2. */
const onSignal = (work: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${work} });`)}`;

test('an API in which a promise fails that nobody waits for writes it down and goes on', async (t) => {
  const api = await startApiProcess(t, {
    ...settings,
    NODE_OPTIONS: onSignal(`void Promise.reject(new Error('forgotten'));`),
  });
  api.child.kill('SIGUSR2');
  await poll(
    async () => api.log(),
    (log) => log.includes('"a failure that nobody waited for: going on"'),
  );

  t.regex(api.log(), /"message":"forgotten"/v);
  t.is((await fetch(`${api.url}/healthz`)).status, 200);
  t.is(api.child.exitCode, null);
});

test('an API with an exception that nobody caught says so and ends, to be started again', async (t) => {
  const api = await startApiProcess(t, {
    ...settings,
    NODE_OPTIONS: onSignal(`setTimeout(() => { throw new Error('half done'); });`),
  });
  api.child.kill('SIGUSR2');
  while (api.child.exitCode === null) {
    await sleep(20);
  }

  t.is(api.child.exitCode, 1);
  t.regex(api.log(), /"message":"half done"[\s\S]*"an exception that nobody caught: ending"/v);
});
