import test, { type ExecutionContext } from 'ava';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startApp, type Restarts } from '../../scripts/parts/app.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { ProcessPart } from '../../scripts/parts/part.ts';
import { type Ending, endProcesses, processIdentity } from '../../scripts/parts/processes.ts';
import { isRunning, takeRunLock } from '../../scripts/start/run-lock.ts';
import { startApiProcess } from '../support/api-process.ts';
import { noTemporal } from '../support/media-library.ts';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ended } from '../support/worker-process.ts';

/** A process that waits until it is ended. With `deaf`, it ignores SIGTERM and has to be killed. */
async function sleeper(
  t: ExecutionContext,
  { deaf = false, graceMs = 60_000 } = {},
): Promise<{ child: ChildProcess; ending: Ending }> {
  const script = `${deaf ? "process.on('SIGTERM', () => {});" : ''} setInterval(() => {}, 1000); console.log('up');`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const pid = child.pid ?? 0;
  const identity = (await processIdentity(pid)) ?? '';
  return { child, ending: { name: `sleeper ${pid}`, pid, identity, signal: 'SIGTERM', graceMs } };
}

test('a process ends only after all processes of the group before it', async (t) => {
  const [worker, database] = [await sleeper(t, { deaf: true, graceMs: 300 }), await sleeper(t)];
  const order: string[] = [];
  worker.child.once('exit', () => order.push('worker'));
  const closed = once(database.child, 'exit').then(() => order.push('database'));
  await endProcesses([[worker.ending], [database.ending]]);
  await closed;
  t.deepEqual(order, ['worker', 'database']);
});

test('a process that exceeds its grace period is killed, and named', async (t) => {
  const { child, ending } = await sleeper(t, { deaf: true, graceMs: 100 });
  const exited = once(child, 'exit');
  t.deepEqual(await endProcesses([[ending]]), [ending.name]);
  t.deepEqual(await exited, [null, 'SIGKILL']);
});

test('a second Ctrl-C does not wait for any grace period', async (t) => {
  // An hour: if the wait were not cut short, this test would not end.
  const { ending } = await sleeper(t, { deaf: true, graceMs: 3_600_000 });
  t.deepEqual(await endProcesses([[ending]], AbortSignal.timeout(100)), [ending.name]);
});

test('a later process with the id of a watched one is left alone', async (t) => {
  const { ending } = await sleeper(t);
  t.deepEqual(await endProcesses([[{ ...ending, identity: 'an earlier one' }]]), []);
  t.is(await processIdentity(ending.pid), ending.identity);
});

const keeperScript = fileURLToPath(new URL('keeper.ts', import.meta.url));

test('when npm start is killed, its parts end too', async (t) => {
  const { child, ending } = await sleeper(t);
  const gone = once(child, 'exit');
  const keeper = spawn(process.execPath, [keeperScript, JSON.stringify(ending)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(keeper.stdout, 'data');
  keeper.kill('SIGKILL');
  t.deepEqual(await gone, [null, 'SIGTERM']);
});

const silent = () => undefined;
const address = 'http://127.0.0.1:3000';

async function lockFile(t: ExecutionContext): Promise<string> {
  return path.join(await temporaryFolder(t), 'running.json');
}

test("a second start in the same folder names the first one's address and how to stop it", async (t) => {
  const file = await lockFile(t);
  await takeRunLock(file, address, silent);
  const error = await t.throwsAsync(takeRunLock(file, address, silent));
  t.is(
    error.message,
    `Punctual is already running in this folder: process ${process.pid}, API at ${address}.\n` +
      `Press Ctrl-C where it runs, or run "kill ${process.pid}".`,
  );
});

test('after a start has ended, the next one may begin', async (t) => {
  const file = await lockFile(t);
  const lock = await takeRunLock(file, address, silent);
  t.true(await isRunning(file));
  await lock.release();
  t.false(await isRunning(file));
  await t.notThrowsAsync(takeRunLock(file, address, silent));
});

test('the processes of a killed start are named and ended', async (t) => {
  const file = await lockFile(t);
  const { child, ending } = await sleeper(t);
  const gone = once(child, 'exit');
  const killed = { pid: 99_999_999, identity: 'killed', api: address, parts: [[ending]] };
  await writeFile(file, JSON.stringify(killed));
  const output: string[] = [];
  await takeRunLock(file, address, (line) => output.push(line));
  await gone;
  t.deepEqual(output, [
    `An earlier start was killed. Ending its remaining processes: ${ending.name} (process ${ending.pid}) ...`,
  ]);
});

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
  await poll(api.log, (log) => log.includes('"unhandled rejection"'));

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
  await ended(api.child);
  t.is(api.child.exitCode, 1);
  t.regex(api.log(), /"message":"half done"[\s\S]*"uncaught exception, exiting"/v);
});
