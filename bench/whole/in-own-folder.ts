import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { Stage } from '../../scripts/parts/part.ts';

/** Runs a bench with a folder of its own, and ends every process that it started, also when somebody interrupts it. */
export async function inOwnFolder<T>(
  bench: (folder: string, stage: Stage) => Promise<T>,
): Promise<T> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort());
  }

  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-bench-'));
  // Where this runs as root, PostgreSQL runs as somebody else and has to pass.
  await chmod(folder, 0o711);
  const say = (line: string) => console.log(line);
  try {
    return await bench(folder, { guard, say, signal: interrupted.signal });
  } finally {
    await guard.endAll();
    await rm(folder, { recursive: true, force: true });
  }
}
