import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startGuard } from '../../../scripts/parts/guard.ts';
import { openScope, type Scope } from '../../fuzz/scope.ts';
import { startTestPostgres } from './postgres.ts';

/**
 * Starts a PostgreSQL with a migrated template database, for a program outside the test runner, and removes it at the
 * end.
 *
 * @param name Of its folder in the system's temporary folder.
 * @param work Gets the folder and a `t` for teardowns.
 */
export async function withPostgres<T>(
  name: string,
  signal: AbortSignal,
  work: (folder: string, t: Scope['t']) => Promise<T>,
): Promise<T> {
  const guard = startGuard();
  const folder = await mkdtemp(path.join(tmpdir(), `punctual-${name}-`));
  // As root, this runs PostgreSQL as another user, who must be able to enter the folder.
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
