import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '../../db/migrate.ts';
import { createOrm } from '../../db/orm.ts';
import { createSealer } from '../../runtime/sealer.ts';
import { startGuard } from '../../scripts/parts/guard.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { machineFacts } from '../machine.ts';
import { compareWithBare } from './compare-with-bare.ts';
import { compareWithSql } from './compare-with-sql.ts';
import { startDatabase } from './database.ts';
import { seed } from './seed.ts';
import type { World } from './world.ts';

/** `npm run bench api`. @returns whether every target was met. */
export async function run(): Promise<boolean> {
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
    const world = await makeWorld(folder, stage);
    const results = [...(await compareWithBare(world)), ...(await compareWithSql(world))];
    return results.every(Boolean);
  } finally {
    await guard.endAll();
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeWorld(folder: string, stage: Stage): Promise<World> {
  const { say } = stage;
  const databaseUrl = await startDatabase(folder, stage);
  const secretKey = randomBytes(32).toString('hex');
  const sealer = createSealer(secretKey);
  const orm = createOrm(databaseUrl, { poolSize: 2, queryTimeoutMs: 120_000 });
  try {
    const [row] = await orm.em.fork().execute<{ version: string }[]>('show server_version');
    machineFacts(Object.values(row ?? {}).join()).forEach(say);
    await migrate(orm);
    const small = await seed(orm, sealer, 1000);
    const listed = await seed(orm, sealer, 10_000);
    const analysed = await seed(orm, sealer, 100_000);
    await orm.em.fork().execute('vacuum analyze');
    return { folder, stage, databaseUrl, secretKey, small, listed, analysed };
  } finally {
    await orm.close();
  }
}
