import { once } from 'node:events';
import test from 'ava';
import { endProcesses } from '../../scripts/parts/end-processes.ts';
import { processIdentity } from '../../scripts/parts/process-identity.ts';
import { sleeper } from './sleeper.ts';

test('a process ends only when those of the group before are gone', async (t) => {
  const [worker, database] = [await sleeper(t, { deaf: true, graceMs: 300 }), await sleeper(t)];
  const order: string[] = [];
  worker.child.once('exit', () => order.push('worker'));
  const ended = once(database.child, 'exit').then(() => order.push('database'));
  await endProcesses([[worker.ending], [database.ending]]);
  await ended;
  t.deepEqual(order, ['worker', 'database']);
});

test('a process that does not end in its time is ended by force, and named', async (t) => {
  const { child, ending } = await sleeper(t, { deaf: true, graceMs: 100 });
  const exited = once(child, 'exit');
  t.deepEqual(await endProcesses([[ending]]), [ending.name]);
  t.deepEqual(await exited, [null, 'SIGKILL']);
});

test('a second Ctrl-C does not wait for anybody’s time to pass', async (t) => {
  const { ending } = await sleeper(t, { deaf: true, graceMs: 60_000 });
  const startedMs = Date.now();
  await endProcesses([[ending]], AbortSignal.timeout(100));
  t.true(Date.now() - startedMs < 30_000);
});

test('a later process that was given the number of a watched one is left alone', async (t) => {
  const { ending } = await sleeper(t);
  t.deepEqual(await endProcesses([[{ ...ending, identity: 'an earlier one' }]]), []);
  t.is(await processIdentity(ending.pid), ending.identity);
});
