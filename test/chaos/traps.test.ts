import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { poll } from '../support/poll.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import {
  aimAt,
  grantWish,
  markPost,
  openTraps,
  setTrap,
  takeDeaths,
  takeWishes,
  tellAim,
} from './parts/traps.ts';
import { textOf } from './plan/texts.ts';

/** A process that calls one function of the traps on a message, and reports when it has returned. */
const passing = `
  import * as traps from '${new URL('parts/traps.ts', import.meta.url).href}';
  process.once('message', ([name, ...given]) => {
    traps[name](...given);
    process.send('passed', () => process.disconnect());
  });
  process.send('ready');
`;

async function startPassing(t: ExecutionContext) {
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', passing], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  t.teardown(() => worker.kill('SIGKILL'));
  await once(worker, 'message');
  return worker;
}

/** `T` for a stopped process. */
async function stateOf(pid: number | undefined): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8');
  return status.split(') ')[1]?.[0];
}

test('a suspended worker stops until it is released, and then continues', async (t) => {
  const folder = await temporaryFolder(t);
  openTraps(folder);
  const [marker, part, platform] = ['p1', 1, 'mastodon'] as const;
  const fault = 'suspended before the send';
  const text = textOf({ marker, part, parts: 1, version: 1 });
  markPost(folder, marker, { id: 'f1', fault, platform, part, mayMiss: false });
  const worker = await startPassing(t);
  worker.send(['passMark', folder, fault, platform, [text]]);
  await poll(
    () => stateOf(worker.pid),
    (state) => state === 'T',
  );
  t.deepEqual(takeDeaths(folder), [
    { id: 'f1', fault, marker, stopped: { pid: worker.pid, platform } },
  ]);

  const passed = once(worker, 'message');
  worker.kill('SIGCONT');
  t.deepEqual(await passed, ['passed', undefined]);
});

test('a worker that finalizes a post waits in the trap until its workflow is terminated', async (t) => {
  const folder = await temporaryFolder(t);
  openTraps(folder);
  const fault = 'terminated in finalize';
  setTrap(folder, { id: 'trap1', fault });
  const worker = await startPassing(t);
  worker.send(['terminateInTrap', folder, fault, 'post-1']);
  const [wish] = await poll(
    async () => takeWishes(folder),
    ({ length }) => length > 0,
  );
  t.deepEqual(wish, { kind: 'terminate', id: 'trap1', workflowId: 'post-1' });

  const passed = once(worker, 'message');
  grantWish(folder, wish as NonNullable<typeof wish>);
  t.deepEqual(await passed, ['passed', undefined]);
});

test('an aimed attempt announces its start once', async (t) => {
  const folder = await temporaryFolder(t);
  openTraps(folder);
  aimAt(folder, 'post-1', { id: 'f1', marker: 'p1' });
  t.false(tellAim(folder, 'post-2'));
  t.true(tellAim(folder, 'post-1'));
  t.deepEqual(takeWishes(folder), [{ kind: 'change', id: 'f1', marker: 'p1' }]);
  t.false(tellAim(folder, 'post-1'));
});
