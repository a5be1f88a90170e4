import { PlainError } from '../../scripts/terminal.ts';
import { withPostgres } from '../support/services/with-postgres.ts';
import { findSchemathesis } from './find-schemathesis.ts';
import { readOptions, type FuzzOptions } from './options.ts';
import { prepareFolder } from './prepare-folder.ts';
import { runSchemathesis } from './run-schemathesis.ts';
import { makeWorld } from './world.ts';

// `npm run fuzz [-- --seed N] [--max-time SECONDS]`: generated requests to a whole API on its own database.

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => interrupted.abort());
}

try {
  process.exit(await fuzz(readOptions(process.argv.slice(2)), interrupted.signal));
} catch (error) {
  console.error(error instanceof PlainError ? error.message : error);
  process.exit(1);
}

/** @returns the exit code: 0 when it found nothing. */
async function fuzz(options: FuzzOptions, signal: AbortSignal): Promise<number> {
  const say = (line: string) => console.log(line);
  const python = await findSchemathesis(say);
  return withPostgres('fuzz', signal, async (folder, t) => {
    const world = await makeWorld(t);
    await prepareFolder(folder, world);
    say(`To send the same requests again: npm run fuzz -- --seed ${options.seed}`);
    return runSchemathesis(python, world.url, folder, options, signal);
  });
}
