import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shareCompiledCode } from '../../scripts/compile-cache.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { PlainError } from '../../scripts/terminal.ts';
import { openScope } from '../fuzz/scope.ts';
import { readOptions, type ChaosOptions } from './options.ts';
import { runChaos } from './run-chaos.ts';

// `npm run chaos [-- --posts N] [--seed N] [--server dev|real] [--minutes M] [--keep]`: runs the whole product on real
// servers with every kind of fault, and checks the networks afterwards. See docs/internals/chaos.md.

shareCompiledCode();
const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => interrupted.abort());
}

try {
  process.exit(await chaos(readOptions(process.argv.slice(2)), interrupted.signal));
} catch (error) {
  console.error(error instanceof PlainError ? error.message : error);
  process.exit(1);
}

/** @returns the exit code: 0 when every fault was applied and no invariant was violated. */
async function chaos(options: ChaosOptions, signal: AbortSignal): Promise<number> {
  const say = (line: string) => console.log(line);
  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-chaos-'));
  // When this runs as root, PostgreSQL runs as another user, which must be able to enter.
  await chmod(folder, 0o711);
  const scope = openScope();
  const over = new AbortController();
  const stage: Stage = {
    guard,
    // Servers that are killed on purpose print errors.
    say: () => undefined,
    signal: AbortSignal.any([signal, over.signal]),
  };
  let isGood = false;
  try {
    isGood = await Promise.race([
      runChaos({ t: scope.t, folder, stage, options, say }),
      untilInterrupted(signal),
    ]);
  } finally {
    over.abort();
    await guard.endAll();
    await scope.close();
    await (isGood && !options.keep ? rm(folder, { recursive: true, force: true }) : undefined);
  }

  say(isGood ? 'No invariant was violated.' : `Logs of all processes: ${folder}`);
  return isGood ? 0 : 1;
}

async function untilInterrupted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) {
    await once(signal, 'abort');
  }

  throw new PlainError('Interrupted.');
}
