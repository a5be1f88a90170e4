import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import { sweepGrants } from '../../services/channels/sweep-grants.ts';
import type { ActivityDeps } from '../deps.ts';
import { describeError } from '../../runtime/logger.ts';
import { ensureWorkflows } from './ensure-workflows.ts';
import { purgeWorkspaces } from './purge-workspaces.ts';

/** Counts of a sweep. */
export type Swept = {
  /** Rows whose state Temporal returned. */
  readonly looked: number;
  readonly unanswered: number;
  readonly workflowGone: number;
  readonly overdue: number;
  readonly deliveriesGone: number;
  /** Channels whose owners were warned to connect them again soon. */
  readonly channelsAtRisk: number;
  /** Channels whose access ended, with an event for their owners. */
  readonly channelsLost: number;
  /** Purged rows that were past their retention. */
  readonly forgotten: number;
};

/** Longest time for each kind of row, in milliseconds. A sweep starts each minute. */
const shareMs = 15_000;

/** Longest time in which a sweep purges deleted workspaces, in milliseconds. */
const purgeMs = 30_000;

/**
 * Ensures that posts and deliveries have a workflow. Also keeps accounts connected, and purges expired rows and deleted
 * workspaces. Safe to repeat and to run concurrently.
 */
export async function sweep(deps: ActivityDeps): Promise<Swept> {
  const { post, delivery } = await ensureWorkflows(deps, shareMs);
  const { warned: channelsAtRisk, ended: channelsLost } = await sweepGrants(deps);
  const purgeEndMs = performance.now() + purgeMs;
  await purgeWorkspaces(deps, () => performance.now() > purgeEndMs).catch((error: unknown) =>
    deps.log.error(
      { error: describeError(error) },
      'a deleted workspace was not purged, the next sweep retries',
    ),
  );
  const swept: Swept = {
    looked: post.looked + delivery.looked,
    unanswered: post.unanswered + delivery.unanswered,
    workflowGone: post.gone,
    overdue: post.asleep,
    deliveriesGone: delivery.gone,
    channelsAtRisk,
    channelsLost,
    forgotten: await purgeExpired(deps),
  };
  if (swept.workflowGone + swept.overdue + swept.deliveriesGone > 0) {
    deps.log.info(swept, 'the sweep found something wrong, and repaired it');
  }

  return swept;
}

const dayMs = 24 * 3_600_000;

/** One hour, for rows without further use. Meanwhile the page of an expired link can still say that it expired. */
const shortDays = 1 / 24;

const auditDays = 400;

/** Limits the runtime of a statement and of a sweep; the next sweeps delete the rest. */
const batchSize = 1000;
const maxBatches = 10;

/**
 * Deletes rows past their retention (30 days by default): finished deliveries with their attempts, and events
 * without deliveries, which can no longer be delivered. A pending delivery and its event stay. Daily metrics are
 * deleted after two years, connect links and idempotency keys an hour after they expired.
 *
 * @returns how many rows it deleted, without attempts.
 */
export async function purgeExpired(deps: ActivityDeps): Promise<number> {
  let purged = 0;
  for (const { of, fixedDays, purge } of purges) {
    const days = fixedDays ?? (of === null ? shortDays : deps.retentionDays[of]);
    const before = new Date(deps.now().getTime() - days * dayMs);
    purged += await inBatches(deps, purge(before));
  }

  return purged;
}

/**
 * Each deletes the oldest rows first, along an index, and skips locked rows: a delivery that is being replayed is
 * pending once that commits. The ids are an array, so that each row is found by its key even in a large table. Covers
 * all workspaces; no data leaves the database.
 */
const purges: readonly {
  /** Null for rows with a fixed retention. */
  readonly of: keyof ActivityDeps['retentionDays'] | null;
  readonly fixedDays?: number;
  readonly purge: (before: Date) => RawBuilder<unknown>;
}[] = [
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
        order by e.created_at limit ${sql.lit(batchSize)} for update of e skip locked),
      gone as (
        delete from events where id = any(array(select id from expired)) returning id, workspace_id, sequence),
      -- Readers of the workspace then see that there were events which they have missed.
      missed as (
        update workspaces w set last_event_sequence = last_event_sequence + (
          select count(*) from gone where gone.workspace_id = w.id and gone.sequence is null)
        where w.last_event_sequence > 0
          and w.id = any(array(select workspace_id from gone where sequence is null)))
      select id from gone`,
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
        select workspace_id, key from idempotency_keys where expires_at < ${before}
        order by expires_at limit ${sql.lit(batchSize)} for update skip locked)
      delete from idempotency_keys known using expired
        where known.workspace_id = expired.workspace_id and known.key = expired.key and known.expires_at < ${before}
        returning known.key`,
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
  {
    of: null,
    fixedDays: auditDays,
    purge: (before) => sql`delete from audit_log
      where ctid = any(array(
        select ctid from audit_log where at < ${before} limit ${sql.lit(batchSize)} for update skip locked))
      returning id`,
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
