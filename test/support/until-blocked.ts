import type { Orm } from '../../db/orm.ts';
import { poll } from './poll.ts';

/** Waits until so many connections of the same application wait for a lock: those of one test, where each has a clock of its own. */
export async function untilBlocked({ em }: Orm, count = 1): Promise<void> {
  const blocked = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and application_name = current_setting('application_name')`;
  await poll(
    () => em.fork().execute<unknown[]>(blocked),
    (rows) => rows.length >= count,
  );
}
