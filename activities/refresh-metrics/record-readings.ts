import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { sumMetrics } from '../../db/sum-metrics.ts';
import { nextReadMs } from '../../domain/metrics-schedule.ts';
import { metricNames, type Metrics, type PostReading } from '../../networks/network.ts';
import { repeatUntil } from '../repeat-until.ts';
import type { RefreshContext } from './ask-network.ts';
import { rescheduleRows, type DueRow, type RescheduledRow } from './due-reads.ts';

type Batch = {
  /** All of one channel. */
  readonly rows: readonly DueRow[];
  readonly readAt: Date;
  /** Keyed by the network's id of a post. */
  readonly readings: ReadonlyMap<string, PostReading>;
};

/** In milliseconds. Covers a failover or restart of PostgreSQL. The activity has this long after its last read. */
const retryForMs = 20_000;

/** Stores readings. @throws the last error after `retryForMs`, or when the worker stops. */
export const recordWithRetries = (
  refreshing: RefreshContext,
  workspaceId: string,
  batch: Batch,
): Promise<void> =>
  repeatUntil(performance.now() + retryForMs, () => recordReadings(refreshing, workspaceId, batch));

/** Delay for posts that the time did not suffice for, in milliseconds: until the next refresh. */
const soonMs = 60_000;

type ReadRow = RescheduledRow & { readonly metrics: Metrics };

/** A reading that began before the stored one changes nothing, so a suspended worker overwrites nothing newer. */
async function recordReadings(
  { deps, everyMs, counts }: RefreshContext,
  workspaceId: string,
  { rows, readAt, readings }: Batch,
): Promise<void> {
  const gone: DueRow[] = [];
  const read: ReadRow[] = [];
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

  const postIds = rows.map(({ postId }) => postId);
  // The row `pc` has no newer reading.
  const isOld = sql`pc.workspace_id = ${workspaceId} and pc.status = 'published' and pc.gone_at is null
    and (pc.metrics_updated_at is null or pc.metrics_updated_at < ${readAt})`;
  await deps.orm.em.fork().transactional(async (em) => {
    // In a fixed order, so that channels of the same posts cannot deadlock.
    await query(
      em,
      sql`select 1 from posts where id = any(${postIds}::uuid[]) and workspace_id = ${workspaceId}
        order by id for no key update`,
    );
    await recordRead(em, read, readAt, isOld);
    await sumMetrics(em, workspaceId, postIds);
    if (gone.length > 0) {
      await query(
        em,
        sql`update post_channels pc set gone_at = ${readAt}, next_metrics_at = null
          where pc.id = any(${gone.map(({ id }) => id)}::uuid[]) and ${isOld}`,
      );
    }

    await rescheduleRows(em, [...withoutReading, ...unasked]);
  });
  counts.read += read.length;
  counts.gone += gone.length;
  counts.failed += withoutReading.length;
  counts.left += unasked.length;
}

/** Drops values that are not non-negative integers, so that a malformed response does not reach the sums. */
const wholeNumbers = (metrics: Metrics): Metrics =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = metrics[name];
      return Number.isSafeInteger(value) && Number(value) >= 0 ? [[name, value]] : [];
    }),
  );

async function recordRead(
  em: Em,
  read: readonly ReadRow[],
  readAt: Date,
  isOld: RawBuilder<unknown>,
): Promise<void> {
  if (read.length > 0) {
    await query(
      em,
      sql`with kept as (
          update post_channels pc set metrics = reading.metrics::jsonb, metrics_updated_at = ${readAt},
            next_metrics_at = case when pc.next_metrics_at = reading.lease then reading.next_at::timestamptz
              else pc.next_metrics_at end
          from unnest(${read.map(({ id }) => id)}::uuid[], ${read.map(({ metrics }) => JSON.stringify(metrics))}::text[],
            ${read.map(({ nextAt }) => nextAt?.toISOString() ?? null)}::text[],
            ${read.map(({ lease }) => lease)}::timestamptz[]) as reading (id, metrics, next_at, lease)
          where pc.id = reading.id and ${isOld}
          returning pc.id, pc.workspace_id, pc.metrics)
        insert into metric_days (post_channel_id, day, workspace_id, metrics)
          select id, (${readAt}::timestamptz at time zone 'UTC')::date, workspace_id, metrics from kept
        on conflict (post_channel_id, day) do update set metrics = excluded.metrics`,
    );
  }
}
