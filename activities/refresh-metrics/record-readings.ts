import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { isConflict, isDatabaseUnavailable } from '../../db/database-errors.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { sumMetrics } from '../../db/sum-metrics.ts';
import { nextReadMs } from '../../domain/metrics-schedule.ts';
import { metricNames, type Metrics, type PostReading } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { RefreshContext } from './ask-network.ts';
import { rescheduleRows, type DueRow, type RescheduledRow } from './due-reads.ts';

/** Result of a refresh. Counts posts per channel. */
export type RefreshCounts = {
  /** Metrics were read and stored. */
  readonly read: number;
  /** The network says that the post no longer exists. */
  readonly gone: number;
  /** Not readable now: a rate limit, a channel without access, or a network that is read less often. */
  readonly postponed: number;
  /** The network returned no metrics. They are read again later. */
  readonly failed: number;
  /** Due, but the time was up. */
  readonly left: number;
};

export const noCounts: RefreshCounts = { read: 0, gone: 0, postponed: 0, failed: 0, left: 0 };

export const addCounts = (a: RefreshCounts, b: Partial<RefreshCounts>): RefreshCounts => ({
  read: a.read + (b.read ?? 0),
  gone: a.gone + (b.gone ?? 0),
  postponed: a.postponed + (b.postponed ?? 0),
  failed: a.failed + (b.failed ?? 0),
  left: a.left + (b.left ?? 0),
});

type Batch = {
  readonly workspaceId: string;
  /** All of one channel. */
  readonly rows: readonly DueRow[];
  readonly lease: Date;
  /** Time before the request. */
  readonly readAt: Date;
  readonly everyMs: number;
  /** Keyed by the network's id of a post. */
  readonly readings: ReadonlyMap<string, PostReading>;
};

/** In milliseconds. Covers a failover or restart of PostgreSQL. The activity has this long after its last read. */
const retryForMs = 20_000;
const [firstWaitMs, longestWaitMs] = [250, 5000];

/**
 * Stores readings, and retries while the database is unavailable, because reading again may cost money. Safe to repeat,
 * also if the result of a commit was lost.
 *
 * @throws the last error after `retryForMs`, or when the worker stops.
 */
export async function recordWithRetries(
  { deps, stopped }: Pick<RefreshContext, 'deps' | 'stopped'>,
  batch: Batch,
): ReturnType<typeof recordReadings> {
  const startedMs = performance.now();
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await recordReadings(deps, batch);
    } catch (error) {
      const isOver = stopped.aborted || performance.now() - startedMs >= retryForMs;
      if (isOver || !(isDatabaseUnavailable(error) || isConflict(error))) {
        throw error;
      }

      await sleep(waitMs);
    }
  }
}

/** Delay for posts that the time did not suffice for, in milliseconds: until the next refresh. */
const soonMs = 60_000;

/**
 * Stores the readings of some posts in one transaction. A reading that began before the stored one changes nothing, so
 * a suspended worker overwrites nothing newer.
 */
async function recordReadings(
  { orm }: Pick<ActivityDeps, 'orm'>,
  batch: Batch,
): Promise<Pick<RefreshCounts, 'read' | 'gone' | 'failed' | 'left'>> {
  const { rows, lease, readAt, everyMs, readings } = batch;
  const gone: DueRow[] = [];
  const read: (RescheduledRow & { readonly metrics: Metrics })[] = [];
  const withoutReading: RescheduledRow[] = [];
  const unasked: RescheduledRow[] = [];
  for (const row of rows) {
    const reading = readings.get(row.remoteId);
    const nextMs = nextReadMs(row.publishedAt.getTime(), readAt.getTime(), everyMs);
    const moved = { ...row, nextAt: nextMs === null ? null : new Date(nextMs) };
    if (reading?.kind === 'gone') {
      gone.push(row);
    } else if (reading?.kind === 'read') {
      read.push({ ...moved, metrics: wholeNumbers(reading.metrics) });
    } else if (reading?.kind === 'unasked') {
      unasked.push({ ...row, nextAt: new Date(readAt.getTime() + soonMs) });
    } else {
      withoutReading.push(moved);
    }
  }

  return orm.em.fork().transactional(async (em) => {
    const postIds = rows.map(({ postId }) => postId);
    await lockPosts(em, batch.workspaceId, postIds);
    await recordRead(em, read, batch);
    await sumMetrics(em, batch.workspaceId, postIds);
    await recordGone(em, gone, batch);
    await rescheduleRows(em, [...withoutReading, ...unasked], lease);
    return {
      read: read.length,
      gone: gone.length,
      failed: withoutReading.length,
      left: unasked.length,
    };
  });
}

/** Drops values that are not non-negative integers, so that a malformed response does not reach the sums. */
const wholeNumbers = (metrics: Metrics): Metrics =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = metrics[name];
      return Number.isSafeInteger(value) && Number(value) >= 0 ? [[name, value]] : [];
    }),
  );

/** Locks in a fixed order, so that channels of the same posts cannot deadlock. */
async function lockPosts(em: Em, workspaceId: string, postIds: readonly string[]): Promise<void> {
  await query(
    em,
    sql`select 1 from posts where id = any(${postIds}::uuid[]) and workspace_id = ${workspaceId}
      order by id for no key update`,
  );
}

/** SQL: the row `pc` has no newer reading. */
const isOld = ({ workspaceId, readAt }: Batch) =>
  sql`pc.workspace_id = ${workspaceId} and pc.status = 'published' and pc.gone_at is null
    and (pc.metrics_updated_at is null or pc.metrics_updated_at < ${readAt})`;

async function recordRead(
  em: Em,
  read: readonly (RescheduledRow & { readonly metrics: Metrics })[],
  batch: Batch,
): Promise<void> {
  if (read.length > 0) {
    const { lease, readAt } = batch;
    await query(
      em,
      sql`with kept as (
          update post_channels pc set metrics = reading.metrics::jsonb, metrics_updated_at = ${readAt},
            next_metrics_at = case when pc.next_metrics_at = ${lease} then reading.next_at::timestamptz
              else pc.next_metrics_at end
          from unnest(${read.map(({ id }) => id)}::uuid[], ${read.map(({ metrics }) => JSON.stringify(metrics))}::text[],
            ${read.map(({ nextAt }) => nextAt?.toISOString() ?? null)}::text[]) as reading (id, metrics, next_at)
          where pc.id = reading.id and ${isOld(batch)}
          returning pc.id, pc.workspace_id, pc.metrics)
        insert into metric_days (post_channel_id, day, workspace_id, metrics)
          select id, (${readAt}::timestamptz at time zone 'UTC')::date, workspace_id, metrics from kept
        on conflict (post_channel_id, day) do update set metrics = excluded.metrics`,
    );
  }
}

/** Keeps the last metrics. */
async function recordGone(em: Em, gone: readonly DueRow[], batch: Batch): Promise<void> {
  if (gone.length > 0) {
    await query(
      em,
      sql`update post_channels pc set gone_at = ${batch.readAt}, next_metrics_at = null
        where pc.id = any(${gone.map(({ id }) => id)}::uuid[]) and ${isOld(batch)}`,
    );
  }
}
