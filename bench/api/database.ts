import path from 'node:path';
import { startPostgres } from '../../scripts/parts/postgres.ts';
import type { Stage } from '../../scripts/parts/part.ts';
import { freePort } from '../../scripts/ports.ts';

/** A PostgreSQL of the bench's own, set as `npm start` sets it: what is committed is on the disk. */
export async function startDatabase(folder: string, stage: Stage): Promise<string> {
  return startPostgres(
    {
      cluster: path.join(folder, 'postgres'),
      port: await freePort(),
      password: crypto.randomUUID(),
      database: 'punctual',
      logFile: path.join(folder, 'postgres.log'),
      env: process.env,
      rank: 1,
      settings: {},
    },
    // At its end it complains that it is ended.
    { ...stage, say: () => undefined },
  );
}
