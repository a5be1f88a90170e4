import type { Orm } from '../../db/orm.ts';
import { poll } from './poll.ts';

/**
 * Waits until this many connections of the same application wait for a lock. With `heldClock`, each test is its own
 * application.
 */
export async function untilBlocked({ em }: Orm, count = 1): Promise<void> {
  const blocked = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
      and application_name = current_setting('application_name')`;
  await poll(
    () => em.fork().execute<unknown[]>(blocked),
    (rows) => rows.length >= count,
  );
}
