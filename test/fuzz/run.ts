import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../../scripts/parts/guard.ts';
import { PlainError } from '../../scripts/plain-error.ts';
import { startTestPostgres } from '../support/services/postgres.ts';
import { findSchemathesis } from './find-schemathesis.ts';
import { readOptions, type FuzzOptions } from './options.ts';
import { prepareFolder } from './prepare-folder.ts';
import { runSchemathesis } from './run-schemathesis.ts';
import { openScope } from './scope.ts';
import { makeWorld } from './world.ts';

// `npm run fuzz [-- --seed N] [--max-time SECONDS]`: made-up requests to a whole API, on a database of its own.

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

/** @returns the exit code: 0 when nothing was found. */
async function fuzz(options: FuzzOptions, signal: AbortSignal): Promise<number> {
  const say = (line: string) => console.log(line);
  const python = await findSchemathesis(say);
  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-fuzz-'));
  // Where this runs as root, PostgreSQL runs as somebody else and has to pass.
  await chmod(folder, 0o711);
  const scope = openScope();
  try {
    const { env } = await startTestPostgres(folder, { guard, say, signal });
    Object.assign(process.env, env);
    const world = await makeWorld(scope.t);
    await prepareFolder(folder, world);
    say(`To send the same requests again: npm run fuzz -- --seed ${options.seed}`);
    return await runSchemathesis(python, world.url, folder, options, signal);
  } finally {
    await scope.close();
    await guard.endAll();
    await rm(folder, { recursive: true, force: true });
  }
}
