import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { startApp, type Restarts } from '../../scripts/parts/app.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { ProcessPart } from '../../scripts/parts/part.ts';
import { startApiProcess } from '../support/api-process.ts';
import { noTemporal } from '../support/media-library.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Starts the test's own program as `npm start` starts the API. */
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
    onEnd: (part: ProcessPart, how: string) => void ends.push(`${part.name}: ${how}`),
  };
  const logFile = path.join(folder, 'app.log');
  const plan = { name: 'api', main: 'main.mjs', env: {}, logFile, rank: 0, graceMs: 1000 };
  const part = await startApp(plan, folder, stage, restarts);
  const starts = async (): Promise<number> =>
    (await readFile(logFile, 'utf8')).split('\n').filter((line) => line === 'up').length;
  return { part, lines, ends, starts, over };
}

const runs = `console.log('up'); setInterval(() => {}, 1000);`;

test('a part of npm start that crashes is restarted, and the end of its output is shown', async (t) => {
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

test('a part that cannot start ends npm start after a limited number of attempts', async (t) => {
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

test('a part that crashes repeatedly ends npm start after its last restart', async (t) => {
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

test('a part that ends because everything ends is not restarted', async (t) => {
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

/** A module that Node loads before the program; it does its work on SIGUSR2. */
const onSignal = (work: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${work} });`)}`;

test('an API with an unhandled rejection logs it and continues', async (t) => {
  const api = await startApiProcess(t, {
    ...settings,
    NODE_OPTIONS: onSignal(`void Promise.reject(new Error('forgotten'));`),
  });
  api.child.kill('SIGUSR2');
  await poll(
    async () => api.log(),
    (log) => log.includes('"unhandled rejection"'),
  );

  t.regex(api.log(), /"message":"forgotten"/v);
  t.is((await fetch(`${api.url}/healthz`)).status, 200);
  t.is(api.child.exitCode, null);
});

test('an API with an uncaught exception logs it and exits, to be restarted', async (t) => {
  const api = await startApiProcess(t, {
    ...settings,
    NODE_OPTIONS: onSignal(`setTimeout(() => { throw new Error('half done'); });`),
  });
  api.child.kill('SIGUSR2');
  while (api.child.exitCode === null) {
    await sleep(20);
  }

  t.is(api.child.exitCode, 1);
  t.regex(api.log(), /"message":"half done"[\s\S]*"uncaught exception, exiting"/v);
});
