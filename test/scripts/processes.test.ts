import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { type Ending, endProcesses, processIdentity } from '../../scripts/parts/processes.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import { isRunning, takeRunLock } from '../../scripts/start/run-lock.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

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
  const ended = once(database.child, 'exit').then(() => order.push('database'));
  await endProcesses([[worker.ending], [database.ending]]);
  await ended;
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

test('an orderly end stops the parts of every rank', async (t) => {
  const [first, last] = [await sleeper(t), await sleeper(t)];
  const gone = Promise.all([once(first.child, 'exit'), once(last.child, 'exit')]);
  const guard = startGuard();
  guard.watch(last.ending, 3);
  guard.watch(first.ending, 0);
  t.deepEqual(await guard.endAll(), []);
  await gone;
  t.pass();
});

const silent = () => undefined;
const api = 'http://127.0.0.1:3000';

async function lockFile(t: ExecutionContext): Promise<string> {
  return path.join(await temporaryFolder(t), 'running.json');
}

test("a second start in the same folder names the first one's address and how to stop it", async (t) => {
  const file = await lockFile(t);
  await takeRunLock(file, api, silent);
  const error = await t.throwsAsync(takeRunLock(file, api, silent));
  t.is(
    error.message,
    `Punctual is already running in this folder: process ${process.pid}, API at ${api}.\n` +
      `Press Ctrl-C where it runs, or run "kill ${process.pid}".`,
  );
});

test('after a start has ended, the next one may begin', async (t) => {
  const file = await lockFile(t);
  const lock = await takeRunLock(file, api, silent);
  t.true(await isRunning(file));
  await lock.release();
  t.false(await isRunning(file));
  await t.notThrowsAsync(takeRunLock(file, api, silent));
});

test('the processes of a killed start are named and ended', async (t) => {
  const file = await lockFile(t);
  const { child, ending } = await sleeper(t);
  const gone = once(child, 'exit');
  const killed = { pid: 99_999_999, identity: 'killed', api, parts: [[ending]] };
  await writeFile(file, JSON.stringify(killed));
  const output: string[] = [];
  await takeRunLock(file, api, (line) => output.push(line));
  await gone;
  t.deepEqual(output, [
    `An earlier start was killed. Ending its remaining processes: ${ending.name} (process ${ending.pid}) ...`,
  ]);
});

test('a process with the id of a killed start does not block the next one', async (t) => {
  const file = await lockFile(t);
  const { ending } = await sleeper(t);
  const killed = { pid: ending.pid, identity: 'an earlier process', api, parts: [] };
  await writeFile(file, JSON.stringify(killed));
  await t.notThrowsAsync(takeRunLock(file, api, silent));
  t.is(await processIdentity(ending.pid), ending.identity);
});

test('a partly written list does not block the next start', async (t) => {
  const file = await lockFile(t);
  await writeFile(file, '{"pid": 12');
  await t.notThrowsAsync(takeRunLock(file, api, silent));
});
