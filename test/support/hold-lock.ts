import type { ExecutionContext } from 'ava';
import type { Orm } from '../../db/orm.ts';

export type HeldLock = {
  /** How many sessions wait for this lock, or for a session that does. Other tests' locks do not count. */
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
  const holder = await new Promise<number>((locked, failed) => {
    const holding = orm.em.fork().transactional(async (em) => {
      await em.execute(sql);
      const [{ pid }] = await em.execute<[{ pid: number }]>('select pg_backend_pid() as pid');
      locked(pid);
      await held;
    });
    t.teardown(async () => {
      release();
      await holding;
    });
    holding.catch(failed);
  });
  const waiting = async (): Promise<number> =>
    (await orm.em.fork().execute<unknown[]>(blockedSessions, [holder])).length;
  return { waiting, release };
}

const blockedSessions = `with recursive blocked as (
    select pid from pg_stat_activity where wait_event_type = 'Lock' and ? = any(pg_blocking_pids(pid))
    union
    select later.pid from pg_stat_activity later join blocked on blocked.pid = any(pg_blocking_pids(later.pid))
    where later.wait_event_type = 'Lock'
  ) select pid from blocked`;
