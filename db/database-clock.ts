import { sql } from 'kysely';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

/** What time it is by the database, so that all processes agree, whatever their machines' clocks say. */
export type DatabaseClock = {
  /** This machine's clock, corrected by the last measurement. */
  readonly now: () => Date;
  /** Compares this machine's clock with the database's. @throws when the database does not answer. */
  readonly measure: () => Promise<void>;
  /** Measures every ten seconds from now on, until the returned function is called. */
  readonly keep: () => () => void;
};

/** Of a log. */
type Warns = { readonly warn: (fields: object, message: string) => void };

/** Between two measurements, in milliseconds: a machine's clock may be set, and a machine may sleep. */
const intervalMs = 10_000;

/** From this difference on it is a line in the log, once for each time that it changes so much. In milliseconds. */
const notableMs = 2000;

/**
 * @param machineNow This machine's clock, in milliseconds since 1970. It is the wall clock, which goes on while a machine
 *   sleeps.
 */
export function createDatabaseClock(
  orm: Orm,
  log: Warns,
  machineNow: () => number = Date.now,
): DatabaseClock {
  let aheadMs = 0;
  let toldMs = 0;

  const measure = async (): Promise<void> => {
    const askedMs = machineNow();
    const [row] = await query(
      orm.em.fork(),
      sql<{
        now_ms: number;
      }>`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    );
    const answeredMs = machineNow();
    // The database looked at its clock at some moment in between. A slow answer says little, and corrects only what
    // it proves wrong.
    const [leastMs, mostMs] = [(row?.now_ms ?? 0) - answeredMs, (row?.now_ms ?? 0) - askedMs];
    if (row && (aheadMs < leastMs || aheadMs > mostMs)) {
      aheadMs = (leastMs + mostMs) / 2;
    }

    if (Math.abs(aheadMs - toldMs) >= notableMs) {
      toldMs = aheadMs;
      const seconds = Math.round(Math.abs(aheadMs) / 1000);
      log.warn(
        { differenceMs: Math.round(aheadMs) },
        `this machine's clock is ${seconds} s ${aheadMs < 0 ? 'ahead of' : 'behind'} the database's, which counts`,
      );
    }
  };

  const keep = (): (() => void) => {
    const timer = setInterval(() => {
      measure().catch(() => undefined); // What needs the database says that it is away.
    }, intervalMs);
    timer.unref();
    return () => clearInterval(timer);
  };

  return { now: () => new Date(machineNow() + aheadMs), measure, keep };
}
