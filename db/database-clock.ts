import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

type WarningLog = { readonly warn: (fields: object, message: string) => void };

/** A machine's clock may be set, and a machine may sleep. */
const intervalMs = 10_000;

/** Logs a warning each time the difference changes by this much. */
const notableMs = 2000;

/** Clock of the database, on which all processes agree whatever their machines' clocks show. */
export function createDatabaseClock(
  orm: Orm,
  log: WarningLog,
  machineNow: () => number = Date.now,
) {
  let aheadMs = 0;
  let loggedMs = 0;

  const measure = async (): Promise<void> => {
    const askedMs = machineNow();
    const [row] = await query(orm.em.fork(), sql<{ now: Date }>`select clock_timestamp() as now`);
    const nowMs = row?.now.getTime() ?? machineNow();
    // The database read its clock at some moment in between. A slow response is imprecise, so correct only what it
    // disproves.
    const [leastMs, mostMs] = [nowMs - machineNow(), nowMs - askedMs];
    if (aheadMs < leastMs || aheadMs > mostMs) {
      aheadMs = (leastMs + mostMs) / 2;
    }

    if (Math.abs(aheadMs - loggedMs) >= notableMs) {
      loggedMs = aheadMs;
      const seconds = Math.round(Math.abs(aheadMs) / 1000);
      const how = aheadMs < 0 ? 'ahead of' : 'behind';
      log.warn(
        { differenceMs: Math.round(aheadMs) },
        seconds === 0
          ? "this machine's clock agrees with the database's again"
          : `this machine's clock is ${seconds} s ${how} the database's, which counts`,
      );
    }
  };

  /** Measures every 10 s until the returned function is called. */
  const keep = (): (() => void) => {
    const timer = setInterval(() => {
      measure().catch(() => undefined); // Other queries report that the database is unavailable.
    }, intervalMs);
    timer.unref();
    return () => clearInterval(timer);
  };

  const now = (): Date => new Date(machineNow() + aheadMs);
  return { now, measure, keep };
}
