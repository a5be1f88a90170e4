import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../../../scripts/parts/guard.ts';
import { openScope, type Scope } from '../../fuzz/scope.ts';
import { startTestPostgres } from './postgres.ts';

/**
 * Starts a PostgreSQL with a migrated database to copy, for a program that is no test, and takes all away at the end.
 *
 * @param name Of its folder, under the system's own for such.
 * @param work Gets the folder, and where it registers what is to be undone.
 */
export async function withPostgres<T>(
  name: string,
  signal: AbortSignal,
  work: (folder: string, t: Scope['t']) => Promise<T>,
): Promise<T> {
  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), `punctual-${name}-`));
  // Where this runs as root, PostgreSQL runs as another user and has to pass.
  await chmod(folder, 0o711);
  const scope = openScope();
  try {
    const say = (line: string) => console.log(line);
    const { env } = await startTestPostgres(folder, { guard, say, signal });
    Object.assign(process.env, env);
    return await work(folder, scope.t);
  } finally {
    await scope.close();
    await guard.endAll();
    await rm(folder, { recursive: true, force: true });
  }
}
