import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

/** In milliseconds. */
const deadlineMs = 2000;

/** Whether the database responds within 2 s and has the schema. */
export function isDatabaseReachable(orm: Orm): Promise<boolean> {
  const late = AbortSignal.timeout(deadlineMs);
  const timeout = new Promise<boolean>((resolve) => {
    late.addEventListener('abort', () => resolve(false));
  });
  // Reads a table, because a database without the schema is not ready.
  const answer = query(orm.em.fork(), sql`select 1 from workspaces limit 1`).then(
    () => true,
    () => false,
  );
  return Promise.race([answer, timeout]);
}
