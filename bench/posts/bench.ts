import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { machineFacts } from '../machine.ts';
import { compare } from './compare.ts';
import { readOptions } from './options.ts';
import { makeWorld } from './world.ts';

/** `npm run bench posts`. @returns whether every target was met. */
export async function run(args: readonly string[]): Promise<boolean> {
  const options = readOptions(args);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort());
  }

  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), 'punctual-bench-'));
  // Where this runs as root, PostgreSQL runs as somebody else and has to pass.
  await chmod(folder, 0o711);
  const stage: Stage = { guard, say: (line) => console.log(line), signal: interrupted.signal };
  try {
    const world = await makeWorld(folder, stage, options);
    const [row] = await world.orm.em.fork().execute<{ version: string }[]>('show server_version');
    machineFacts(Object.values(row ?? {}).join()).forEach(stage.say);
    try {
      return await compare(world);
    } finally {
      await world.orm.close();
    }
  } finally {
    await guard.endAll();
    await rm(folder, { recursive: true, force: true });
  }
}
