import type { ExecutionContext } from 'ava';
import type { Orm } from '../../db/orm.ts';

export type HeldLock = {
  /** How many sessions wait for a lock in this database. */
  readonly waiting: () => Promise<number>;
  /** Releases the lock; the test's end does so too. */
  readonly release: () => void;
};

/** Takes a lock by a statement, in a transaction that stays open. */
export async function holdLock(t: ExecutionContext, orm: Orm, sql: string): Promise<HeldLock> {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await new Promise<void>((locked, failed) => {
    const holding = orm.em.fork().transactional(async (em) => {
      await em.execute(sql);
      locked();
      await held;
    });
    t.teardown(async () => {
      release();
      await holding;
    });
    holding.catch(failed);
  });
  const waiting = async (): Promise<number> => {
    const sessions = `select 1 from pg_stat_activity
                      where datname = current_database() and wait_event_type = 'Lock'`;
    return (await orm.em.fork().execute<unknown[]>(sessions)).length;
  };
  return { waiting, release };
}
