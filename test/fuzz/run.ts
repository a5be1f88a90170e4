import { mkdtemp, rm, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../../scripts/parts/guard.ts';
import { startTestPostgres } from '../support/services/postgres.ts';
import { findSchemathesis } from './find-schemathesis.ts';
import { readOptions } from './options.ts';
import { prepareFolder } from './prepare-folder.ts';
import { runSchemathesis } from './run-schemathesis.ts';
import { openScope } from './scope.ts';
import { makeWorld } from './world.ts';

// `npm run fuzz [-- --seed N] [--max-time SECONDS]`: made-up requests to a whole API, on a database of its own.

const options = readOptions(process.argv.slice(2));
const say = (line: string) => console.log(line);
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupted.abort());
}

const python = await findSchemathesis(say);
const guard = startGuard();
const folder = await mkdtemp(path.join(tmpdir(), 'punctual-fuzz-'));
// Where this runs as root, PostgreSQL runs as somebody else and has to pass.
await chmod(folder, 0o711);
const scope = openScope();
let exitCode = 1;
try {
  const { env } = await startTestPostgres(folder, { guard, say, signal: interrupted.signal });
  Object.assign(process.env, env);
  const world = await makeWorld(scope.t);
  await prepareFolder(folder, world);
  say(`Seed ${options.seed}: npm run fuzz -- --seed ${options.seed}`);
  exitCode = await runSchemathesis(python, world.url, folder, options);
} finally {
  await scope.close();
  await guard.endAll();
  await rm(folder, { recursive: true, force: true });
}

process.exit(exitCode);
