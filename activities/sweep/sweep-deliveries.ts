import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';
import { recordSweepFinds } from './record-sweep-finds.ts';
import { scanRows, type Scanned, type Sweeping } from './scan-rows.ts';

/** In milliseconds. Grace period after an attempt's time: receivers may be slow, and deliveries wait for slots. */
const graceMs = 2 * 60_000;

/** Interval between scans of the same delivery, in milliseconds. */
const scanIntervalMs = 2 * 60_000;

type Row = { id: string; workspace_id: string; round: number };

/** Finds deliveries whose workflow is lost. @param untilMs By `performance.now()`. */
export function sweepDeliveries(
  deps: ActivityDeps,
  sweeping: Sweeping,
  untilMs: number,
): Promise<Scanned> {
  return scanRows<Row>({
    sweeping,
    untilMs,
    claim: (limit) => claimDeliveries(deps, sweeping, limit),
    release: (rows) => release(deps, rows),
    list: (ids) => deps.workflows.listDeliveries(ids),
    stateOf: ({ id }) => deps.workflows.ofDelivery(id),
    check: async () => undefined,
    restart: (rows) => recordSweepFinds(deps, 'delivery_gone', rows, returnToOutbox),
  });
}

const attemptDueAt = sql`coalesce(d.next_attempt_at, d.created_at)`;

/** Covers all workspaces, in the order of `claimPosts`. */
function claimDeliveries(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  limit: number,
): Promise<Row[]> {
  const at = (ms: number): Date => new Date(now().getTime() + ms);
  return query<Row>(
    orm.em.fork(),
    sql`with picked as materialized (
        select d.id from deliveries d
        where d.status = 'pending' and ${attemptDueAt} < ${at(-graceMs)} and d.synced_round >= d.round
          and (d.checked_at is null or d.checked_at < ${isAlarm ? beganAt : at(-scanIntervalMs)})
        order by ${isAlarm ? sql`` : sql`d.checked_at nulls first, `}${attemptDueAt} limit ${sql.lit(limit)}
        for update skip locked)
      update deliveries d set checked_at = ${at(0)} from picked where d.id = picked.id
      returning d.id, d.workspace_id, d.round`,
  );
}

async function release({ orm }: ActivityDeps, rows: readonly Row[]): Promise<void> {
  await query(
    orm.em.fork(),
    sql`update deliveries set checked_at = null
      where id = any(${rows.map(({ id }) => id)}::uuid[])
        and workspace_id = any(${rows.map((row) => row.workspace_id)}::uuid[])`,
  );
}

/** Returns pending deliveries to the outbox. A relay then starts their workflows. */
const returnToOutbox = (em: Em, rows: readonly Row[]): Promise<{ id: string }[]> =>
  query<{ id: string }>(
    em,
    sql`with same as materialized (
        select d.id from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.workspace_id)}::uuid[],
          ${rows.map(({ round }) => round)}::int[]) as seen (id, workspace_id, round)
        join deliveries d on d.id = seen.id and d.workspace_id = seen.workspace_id
        where d.status = 'pending' and d.round = seen.round and d.synced_round >= d.round
        for update of d skip locked)
      update deliveries d set synced_round = d.round - 1 from same where d.id = same.id returning d.id`,
  );
