import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

/** In milliseconds. */
const deadlineMs = 2000;

/** Whether the database answers, and has our schema. */
export function databaseAnswers(orm: Orm): Promise<boolean> {
  const late = AbortSignal.timeout(deadlineMs);
  const timeout = new Promise<boolean>((resolve) => {
    late.addEventListener('abort', () => resolve(false));
  });
  // A table, since without its schema the database is not ready.
  const answer = query(orm.em.fork(), sql`select 1 from workspaces limit 1`).then(
    () => true,
    () => false,
  );
  return Promise.race([answer, timeout]);
}
