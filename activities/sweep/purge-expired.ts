import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';

const dayMs = 24 * 3_600_000;

/** For how long what is of no use to anybody stays: an hour. The page of a link that has expired still says so meanwhile. */
const shortDays = 1 / 24;

/** In one go, so that no statement runs long; what is left goes with the next sweeps. */
const batchSize = 1000;
const maxBatches = 10;

/**
 * Deletes what is older than it is kept (30 days unless set otherwise): the sweep's finds, deliveries that have ended with
 * their attempts, and events without deliveries, which can be delivered no more. A delivery that is still being attempted
 * stays, and its event with it. What figures were each day goes after two years. Links by which accounts are connected go an hour after they expired.
 *
 * @returns how many rows it deleted, attempts not counted.
 */
export async function purgeExpired(deps: ActivityDeps): Promise<number> {
  let purged = 0;
  for (const { of, purge } of purges) {
    const days = of === null ? shortDays : deps.retentionDays[of];
    const before = new Date(deps.now().getTime() - days * dayMs);
    purged += await inBatches(deps, purge(before));
  }

  return purged;
}

/**
 * Each takes the oldest first, down an index, and skips rows that are locked: a delivery that is being replayed just now
 * is pending when that is committed. The ids to delete are an array, so that each row is found by its key however large
 * the table is. Of all workspaces: it reads nothing that leaves the database.
 */
const purges: readonly {
  /** Null: of links that connected accounts, and of what workspaces used of their allowances. */
  readonly of: keyof ActivityDeps['retentionDays'] | null;
  readonly purge: (before: Date) => RawBuilder<unknown>;
}[] = [
  {
    of: 'finds',
    purge: (before) => sql`with expired as materialized (
        select id from sweep_finds where found_at < ${before}
        order by found_at limit ${sql.lit(batchSize)} for update skip locked)
      delete from sweep_finds where id = any(array(select id from expired)) returning id`,
  },
  {
    of: 'deliveries',
    purge: (before) => sql`with expired as materialized (
        select id from deliveries where status <> 'pending' and created_at < ${before}
        order by created_at limit ${sql.lit(batchSize)} for update skip locked)
      delete from deliveries where id = any(array(select id from expired)) returning id`,
  },
  {
    of: 'deliveries',
    purge: (before) => sql`with expired as materialized (
        select e.id from events e
        where e.created_at < ${before} and not exists (
          select 1 from deliveries d where d.event_id = e.id and d.workspace_id = e.workspace_id)
        order by e.created_at limit ${sql.lit(batchSize)} for update of e skip locked)
      delete from events where id = any(array(select id from expired)) returning id`,
  },
  {
    of: 'metricDays',
    purge: (before) => sql`with expired as materialized (
        select post_channel_id, day from metric_days where day < (${before}::timestamptz at time zone 'UTC')::date
        order by day limit ${sql.lit(batchSize)} for update skip locked)
      delete from metric_days using expired
        where metric_days.post_channel_id = expired.post_channel_id and metric_days.day = expired.day
        returning metric_days.day`,
  },
  {
    of: null,
    purge: (before) => sql`with expired as materialized (
        select id from connect_links where expires_at < ${before}
        order by expires_at limit ${sql.lit(batchSize)} for update skip locked)
      delete from connect_links where id = any(array(select id from expired)) returning id`,
  },
  {
    of: null,
    purge: (before) => sql`with expired as materialized (
        select workspace_id, platform, day from network_use where day < (${before}::timestamptz at time zone 'UTC')::date
        limit ${sql.lit(batchSize)} for update skip locked)
      delete from network_use known using expired
        where known.workspace_id = expired.workspace_id and known.platform = expired.platform and known.day = expired.day
        returning known.day`,
  },
];

async function inBatches({ orm }: ActivityDeps, purge: RawBuilder<unknown>): Promise<number> {
  let purged = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const deleted = await query(orm.em.fork(), purge);
    purged += deleted.length;
    if (deleted.length < batchSize) {
      break;
    }
  }

  return purged;
}
