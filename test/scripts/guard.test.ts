import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { startGuard } from '../../scripts/parts/guard.ts';
import { sleeper } from './sleeper.ts';

const keeperScript = fileURLToPath(new URL('keeper.ts', import.meta.url));

test('when npm start is killed, its parts end by themselves', async (t) => {
  const { child, ending } = await sleeper(t);
  const gone = once(child, 'exit');
  const keeper = spawn(process.execPath, [keeperScript, JSON.stringify(ending)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(keeper.stdout, 'data');
  keeper.kill('SIGKILL');
  t.deepEqual(await gone, [null, 'SIGTERM']);
});

test('an end in good order ends the parts, whatever their rank', async (t) => {
  const [first, last] = [await sleeper(t), await sleeper(t)];
  const gone = Promise.all([once(first.child, 'exit'), once(last.child, 'exit')]);
  const guard = startGuard();
  guard.watch(last.ending, 3);
  guard.watch(first.ending, 0);
  t.deepEqual(await guard.endAll(), []);
  await gone;
  t.pass();
});
