import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';

/**
 * Takes reads from a network's budget of this month (UTC) before they are made. Reads may cost money whatever their
 * result, so only refused or unmade ones are returned. Concurrent workers never exceed the budget.
 *
 * @param readsPerMonth The budget, over all accounts.
 * @returns how many reads are granted: `wanted`, or the rest.
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
 * Returns reads that were not made or that the network refused. Otherwise an account without access would use up the
 * budget of all others.
 *
 * @param reservedAt A time before the reservation. If a month began since, the new month gets nothing back.
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

/** In milliseconds. Spreads reads over the first day of a month. */
const spreadMs = 24 * 3_600_000;

/** Returns a random time on the first day of the next month. */
export function nextMonthAt(now: Date): Date {
  const firstMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return new Date(firstMs + Math.floor(Math.random() * spreadMs));
}
