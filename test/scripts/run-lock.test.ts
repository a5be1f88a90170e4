import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { processIdentity } from '../../scripts/parts/process-identity.ts';
import { isRunning, takeRunLock } from '../../scripts/run-lock.ts';
import { sleeper } from './sleeper.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const silent = () => undefined;
const api = 'http://127.0.0.1:3000';

async function lockFile(t: ExecutionContext): Promise<string> {
  return path.join(await temporaryFolder(t), 'running.json');
}

test('a second start in the same folder is told where the first one runs and how to stop it', async (t) => {
  const file = await lockFile(t);
  await takeRunLock(file, api, silent);
  const error = await t.throwsAsync(takeRunLock(file, api, silent));
  t.is(
    error.message,
    `Punctual runs in this folder already: process ${process.pid}, API at ${api}.\n` +
      `Press Ctrl-C where it runs, or run "kill ${process.pid}".`,
  );
});

test('after a start has ended the next one may begin', async (t) => {
  const file = await lockFile(t);
  const lock = await takeRunLock(file, api, silent);
  t.true(await isRunning(file));
  await lock.release();
  t.false(await isRunning(file));
  await t.notThrowsAsync(takeRunLock(file, api, silent));
});

test('what a killed start left behind is named and ended', async (t) => {
  const file = await lockFile(t);
  const { child, ending } = await sleeper(t);
  const gone = once(child, 'exit');
  const killed = { pid: 99_999_999, identity: 'killed', api, parts: [[ending]] };
  await writeFile(file, JSON.stringify(killed));
  const said: string[] = [];
  await takeRunLock(file, api, (line) => said.push(line));
  await gone;
  t.deepEqual(said, [
    `An earlier start was killed. Ending what it left behind: ${ending.name} (process ${ending.pid}) ...`,
  ]);
});

test('a process that was given the number of a killed start does not block the next one', async (t) => {
  const file = await lockFile(t);
  const { ending } = await sleeper(t);
  const killed = { pid: ending.pid, identity: 'an earlier process', api, parts: [] };
  await writeFile(file, JSON.stringify(killed));
  await t.notThrowsAsync(takeRunLock(file, api, silent));
  t.is(await processIdentity(ending.pid), ending.identity);
});

test('a list that was cut off while it was written does not block the next start', async (t) => {
  const file = await lockFile(t);
  await writeFile(file, '{"pid": 12');
  await t.notThrowsAsync(takeRunLock(file, api, silent));
});
