import test from 'ava';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../scripts/run-command.ts';

/** V8 has fast paths for these while no module changes the built-in functions that they depend on. */
const iterators = ['ArrayIterator', 'MapIterator', 'SetIterator', 'StringIterator'];
const species = ['ArraySpecies', 'PromiseSpecies', 'RegExpSpecies', 'TypedArraySpecies'];
const protectors = [...iterators, ...species, 'IsConcatSpreadable'];

/** Prints the protectors that no longer hold once the API and the worker are loaded. */
const program = `
  await import('./api/run-api.ts');
  await import('./worker/run-worker.ts');
  console.log(${JSON.stringify(protectors)}.filter((name) => !eval('%' + name + 'Protector()')).join());`;

test('no dependency slows down all loops and regular expressions of the API and the worker', async (t) => {
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', program];
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const result = await runCommand(process.execPath, args, { cwd, timeoutMs: 60_000 });
  t.like(result, { ok: true, stdout: '\n' }, result.stderr);
});
