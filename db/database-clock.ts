import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

type WarningLog = { readonly warn: (fields: object, message: string) => void };

/** Interval of measurements, in milliseconds. A machine's clock may be set, and a machine may sleep. */
const intervalMs = 10_000;

/** In milliseconds. Logs a warning each time the difference changes by this much. */
const notableMs = 2000;

/**
 * Clock of the database, on which all processes agree whatever their machines' clocks show.
 *
 * @param machineNow This machine's wall clock, in milliseconds since 1970, which continues while the machine sleeps.
 */
export function createDatabaseClock(
  orm: Orm,
  log: WarningLog,
  machineNow: () => number = Date.now,
) {
  let aheadMs = 0;
  let loggedMs = 0;

  /** Compares this machine's clock with the database's. @throws if the database does not respond. */
  const measure = async (): Promise<void> => {
    const askedMs = machineNow();
    const [row] = await query(
      orm.em.fork(),
      sql<{
        now_ms: number;
      }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    );
    const answeredMs = machineNow();
    // The database read its clock at some moment in between. A slow response is imprecise, so correct only what it
    // disproves.
    const [leastMs, mostMs] = [(row?.now_ms ?? 0) - answeredMs, (row?.now_ms ?? 0) - askedMs];
    if (row && (aheadMs < leastMs || aheadMs > mostMs)) {
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

  /** This machine's clock, corrected by the last measurement. */
  const now = (): Date => new Date(machineNow() + aheadMs);
  return { now, measure, keep };
}
