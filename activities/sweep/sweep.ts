import { sql, type RawBuilder } from 'kysely';
import { query } from '../../db/query.ts';
import { sweepGrants } from '../../services/channels/sweep-grants.ts';
import type { ActivityDeps } from '../deps.ts';
import { describeError } from '../../runtime/logger.ts';
import { ensureWorkflows, type Ensured } from './ensure-workflows.ts';
import { purgeWorkspaces } from './purge-workspaces.ts';

export type Swept = Ensured & {
  /** Channels whose owners were warned to connect them again soon. */
  readonly channelsAtRisk: number;
  /** Channels whose access ended, with an event for their owners. */
  readonly channelsLost: number;
  readonly forgotten: number;
};

/** Longest time for each kind of row, in milliseconds. A sweep starts each minute. */
const shareMs = 15_000;

/** Longest time in which a sweep purges deleted workspaces, in milliseconds. */
const purgeMs = 30_000;

export async function sweep(deps: ActivityDeps): Promise<Swept> {
  const ensured = await ensureWorkflows(deps, shareMs);
  const { warned: channelsAtRisk, ended: channelsLost } = await sweepGrants(deps);
  const purgeEndMs = performance.now() + purgeMs;
  await purgeWorkspaces(deps, () => performance.now() > purgeEndMs).catch((error: unknown) =>
    deps.log.error(
      { error: describeError(error) },
      'a deleted workspace was not purged, the next sweep retries',
    ),
  );
  const swept: Swept = {
    ...ensured,
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

/** One hour. Meanwhile the page of an expired link can still say that it expired. */
const shortDays = 1 / 24;

const auditDays = 400;

/** Limits the runtime of a statement and of a sweep; the next sweeps delete the rest. */
const batchSize = 1000;
const maxBatches = 10;

/** Deletes rows past their retention. @returns how many, without attempts of deliveries. */
export async function purgeExpired({ orm, now, retentionDays }: ActivityDeps): Promise<number> {
  const { deliveries, metricDays } = retentionDays;
  const purges: readonly (readonly [days: number, purge: Purge])[] = [
    [deliveries, byTime('deliveries', 'created_at', sql`status <> 'pending'`)],
    [deliveries, unneededEvents],
    [metricDays, byTime('metric_days', 'day')],
    [shortDays, byTime('connect_links', 'expires_at')],
    [shortDays, byTime('idempotency_keys', 'expires_at')],
    [shortDays, byTime('network_use', 'day')],
    [auditDays, oldAudit],
  ];
  let purged = 0;
  for (const [days, purge] of purges) {
    const statement = purge(new Date(now().getTime() - days * dayMs));
    for (let [batch, isFull] = [0, true]; isFull && batch < maxBatches; batch += 1) {
      const deleted = await query(orm.em.fork(), statement);
      purged += deleted.length;
      isFull = deleted.length === batchSize;
    }
  }

  return purged;
}

type Purge = (before: Date) => RawBuilder<unknown>;

/**
 * Deletes the oldest rows first, along an index, and skips locked rows: a delivery that is being replayed is pending
 * once that commits. The rows are an array, so that each is found at once even in a large table.
 *
 * @param time Name of a column; `day` is a date in UTC.
 */
const byTime =
  (table: string, time: string, which = sql`true`): Purge =>
  (before) => {
    const until =
      time === 'day' ? sql`(${before}::timestamptz at time zone 'UTC')::date` : sql`${before}`;
    return sql`delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where ${sql.ref(time)} < ${until} and ${which}
        order by ${sql.ref(time)} limit ${sql.lit(batchSize)} for update skip locked))
      returning 1`;
  };

const unneededEvents: Purge = (before) => sql`
  with expired as materialized (
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
  select id from gone`;

/** In no order, which its BRIN index does not have. */
const oldAudit: Purge = (before) => sql`
  delete from audit_log where ctid = any(array(
    select ctid from audit_log where at < ${before} limit ${sql.lit(batchSize)} for update skip locked))
  returning 1`;
