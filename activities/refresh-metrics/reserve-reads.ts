import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';

/**
 * Takes reads from a network's budget of this month (UTC), before they are made: whatever becomes of them, they may have
 * cost something, and so none is given back, except what a network refused. Workers that ask at the same time never get more than there is.
 *
 * @param readsPerMonth The budget, over all accounts.
 * @returns how many of them may be made: `wanted`, or what is left.
 */
export const reserveReads = (
  { orm, now }: Pick<ActivityDeps, 'orm' | 'now'>,
  platform: string,
  readsPerMonth: number,
  wanted: number,
): Promise<number> =>
  orm.em.fork().transactional(async (em) => {
    const month = monthOf(now());
    await query(
      em,
      sql`insert into metric_reads (platform, month, reads) values (${platform}, ${month}::date, 0)
        on conflict do nothing`,
    );
    const [row] = await query(
      em,
      sql<{ reads: number }>`select reads from metric_reads
        where platform = ${platform} and month = ${month}::date for update`,
    );
    const granted = Math.min(wanted, Math.max(0, readsPerMonth - (row?.reads ?? 0)));
    await query(
      em,
      sql`update metric_reads set reads = reads + ${granted}::int
        where platform = ${platform} and month = ${month}::date`,
    );
    return granted;
  });

/**
 * Gives back reads that were not made, or that the network refused: an account without access would use up the budget of
 * all others.
 *
 * @param reservedAt A time before they were reserved: where a month began in between, the new one gets nothing back.
 */
export const giveBackReads = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  platform: string,
  reservedAt: Date,
  unmade: number,
): Promise<unknown> =>
  query(
    orm.em.fork(),
    sql`update metric_reads set reads = greatest(0, reads - ${unmade}::int)
      where platform = ${platform} and month = ${monthOf(reservedAt)}::date`,
  );

const monthOf = (at: Date): string => at.toISOString().slice(0, 8) + '01';

/** Reads do not all begin in the first minute of a month. In milliseconds. */
const spreadMs = 24 * 3_600_000;

/** When there are reads again: on the first day of the next month, at a time by chance. */
export function nextMonthAt(now: Date): Date {
  const firstMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new Date(firstMs + Math.floor(Math.random() * spreadMs));
}
