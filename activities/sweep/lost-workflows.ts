import { sql, type RawBuilder } from 'kysely';
import { isUnderWay } from '../../db/channel-status.ts';
import type { Em } from '../../db/orm.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';
import { recordSweepFinds, scanRows, type Scanned, type Sweeping } from './scan-rows.ts';

/** Range of due times to scan, relative to now, and the interval between scans of the same post. In milliseconds. */
type DueRange = { readonly fromMs: number; readonly untilMs: number; readonly intervalMs: number };

/** Grace period after a post's time before it is scanned. */
const postGraceMs = 30_000;

const overdue: DueRange = { fromMs: -Infinity, untilMs: -postGraceMs, intervalMs: 50_000 };

/** Posts of the next hour, so that a lost one is still published on time. */
const ahead: DueRange = { fromMs: -postGraceMs, untilMs: 3_600_000, intervalMs: 10 * 60_000 };

/** Time after its claim or cancel that a post may wait for busy workers. */
const publishingMs = 5 * 60_000;

/** In milliseconds. Time after a cancel for the workflow to finish the channels being sent. */
const finishingMs = 30_000;

/** Shortest interval between finds of the same overdue post that has a workflow. Each find syncs it again. */
const findIntervalMs = 10 * 60_000;

type PostRow = {
  id: string;
  workspace_id: string;
  status: 'scheduled' | 'publishing' | 'draft';
  revision: number;
  /** Overdue or unfinished at the last scan too, so not just briefly after an outage. */
  is_late: boolean;
};

type PostSweepCounts = Scanned & { readonly overdue: number };

/**
 * Finds posts whose workflow is lost, and posts that are overdue without a reason. Overdue and future posts have
 * separate shares of the sweep, so neither starves the other.
 *
 * @param shareMs Time for each claim.
 */
export async function sweepPosts(
  deps: ActivityDeps,
  sweeping: Sweeping,
  shareMs: number,
): Promise<PostSweepCounts> {
  const counts = { looked: 0, unanswered: 0, lost: 0, overdue: 0, isCutShort: false };
  const claims = [
    (limit: number) => claimPosts(deps, sweeping, overdue, limit),
    (limit: number) => claimPosts(deps, sweeping, ahead, limit),
    (limit: number) => claimUnfinished(deps, sweeping, limit),
  ];
  for (const claim of claims) {
    const { looked, unanswered, lost, isCutShort } = await scanRows<PostRow>({
      sweeping,
      untilMs: performance.now() + shareMs,
      claim,
      release: (rows) => releasePosts(deps, rows),
      list: (ids) => deps.workflows.listPosts(ids),
      stateOf: ({ id }) => deps.workflows.ofPost(id),
      check: async (row, state) => {
        if (state !== 'busy' && row.is_late) {
          const found = await recordOverdue(deps, row, state);
          counts.overdue += found; // Checks run concurrently: read the sum after the await.
        }
      },
      restart: (rows) => recordSweepFinds(deps, 'workflow_gone', rows, returnPostsToOutbox),
    });
    counts.looked += looked;
    counts.unanswered += unanswered;
    counts.lost += lost;
    counts.isCutShort ||= isCutShort;
  }

  return counts;
}

/**
 * Claims posts that should have a workflow, across workspaces. The longest unscanned come first, so that 10,000 posts
 * that wait for a network hide no other; once Temporal lost data, the earliest due. Rows in the outbox are left to the
 * relay.
 */
function claimPosts(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  { fromMs, untilMs, intervalMs: restMs }: DueRange,
  limit: number,
): Promise<PostRow[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date => new Date(nowMs + ms);
  const from = fromMs === -Infinity ? sql`'-infinity'` : sql`${at(fromMs)}`;
  return query<PostRow>(
    orm.em.fork(),
    sql`with picked as materialized (
        select p.id, p.checked_at from posts p
        where ${isOpenPost('p')} and p.synced_revision >= p.revision
          and ${dueAt('p')} >= ${from}::timestamptz and ${dueAt('p')} < ${at(untilMs)}
          and (p.checked_at is null or p.checked_at < ${isAlarm ? beganAt : at(-restMs)})
        order by ${isAlarm ? sql`` : sql`p.checked_at nulls first, `}${dueAt('p')} limit ${sql.lit(limit)}
        for update skip locked)
      update posts p set checked_at = ${at(0)} from picked where p.id = picked.id
      returning p.id, p.workspace_id, p.status, p.revision,
        coalesce(picked.checked_at > greatest(${dueAt('p')}, p.wakes_at) + ${milliseconds(postGraceMs)}, false)
        and (p.status = 'scheduled' or p.updated_at < ${at(-publishingMs)}) as is_late`,
  );
}

/** Claims cancelled posts with channels that have to finish. */
function claimUnfinished(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  limit: number,
): Promise<PostRow[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date => new Date(nowMs + ms);
  return query<PostRow>(
    orm.em.fork(),
    sql`with picked as materialized (
        select p.id, p.checked_at from posts p
        where p.id in (select post_id from post_channels pc where ${isUnderWay})
          and p.status = 'draft' and p.synced_revision >= p.revision and p.updated_at < ${at(-finishingMs)}
          and (p.checked_at is null or p.checked_at < ${isAlarm ? beganAt : at(-overdue.intervalMs)})
        order by p.checked_at nulls first limit ${sql.lit(limit)} for update of p skip locked)
      update posts p set checked_at = ${at(0)} from picked where p.id = picked.id
      returning p.id, p.workspace_id, p.status, p.revision,
        coalesce(picked.checked_at > p.updated_at + ${milliseconds(finishingMs)}, false)
        and p.updated_at < ${at(-publishingMs)} as is_late`,
  );
}

const milliseconds = (count: number): RawBuilder<unknown> =>
  sql`${sql.lit(count)} * interval '1 millisecond'`;

async function releasePosts({ orm }: ActivityDeps, rows: readonly PostRow[]): Promise<void> {
  await query(
    orm.em.fork(),
    sql`update posts set checked_at = null
      where id = any(${rows.map(({ id }) => id)}::uuid[])
        and workspace_id = any(${rows.map((row) => row.workspace_id)}::uuid[])`,
  );
}

/**
 * Records that a post is overdue, unless that was done recently. A sleeping workflow is signalled again: after a reset
 * it may not know the post's time, that it was being published, or that it was cancelled. A workflow whose step waits
 * for a worker is not signalled, as it would lose its position in the queue.
 */
const recordOverdue = (
  deps: ActivityDeps,
  row: PostRow,
  state: 'asleep' | 'waiting',
): Promise<number> =>
  recordSweepFinds(deps, 'overdue', [row], async (em) => {
    const [recent] = await query(
      em,
      sql`select 1 from sweep_finds
        where post_id = ${row.id} and workspace_id = ${row.workspace_id} and kind = 'overdue'
          and found_at > ${new Date(deps.now().getTime() - findIntervalMs)} limit 1`,
    );
    if (recent !== undefined) {
      return [];
    }

    return state === 'asleep' || row.status === 'scheduled'
      ? raiseRevision(em, row)
      : query<{ id: string }>(em, lockUnchanged([row]));
  });

/** SQL: locks the rows that have not changed since the scan, and skips those already in the outbox. */
const lockUnchanged = (rows: readonly PostRow[]): RawBuilder<{ id: string }> => sql`
  select p.id from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.workspace_id)}::uuid[],
    ${rows.map(({ status }) => status)}::text[], ${rows.map(({ revision }) => revision)}::int[])
    as seen (id, workspace_id, status, revision)
  join posts p on p.id = seen.id and p.workspace_id = seen.workspace_id
  where p.status = seen.status and p.revision = seen.revision and p.synced_revision >= p.revision
  for update of p skip locked`;

/**
 * Returns a post to the outbox with a revision above the workflow's, which has more if a failover lost changes, so that
 * its sync wakes the workflow.
 */
const raiseRevision = (em: Em, row: PostRow): Promise<{ id: string }[]> =>
  query<{ id: string }>(
    em,
    sql`with same as materialized (${lockUnchanged([row])})
      update posts p set revision = p.synced_revision + 1000 from same where p.id = same.id returning p.id`,
  );

/** Returns posts to the outbox. A relay then starts their workflows. */
const returnPostsToOutbox = (em: Em, rows: readonly PostRow[]): Promise<{ id: string }[]> =>
  query<{ id: string }>(
    em,
    sql`with same as materialized (${lockUnchanged(rows)})
      update posts p set synced_revision = p.revision - 1 from same where p.id = same.id returning p.id`,
  );

/** In milliseconds. Grace period after an attempt's time: receivers may be slow, and deliveries wait for slots. */
const deliveryGraceMs = 2 * 60_000;

/** Interval between scans of the same delivery, in milliseconds. */
const deliveryIntervalMs = 2 * 60_000;

type DeliveryRow = { id: string; workspace_id: string; round: number };

/** Finds deliveries whose workflow is lost. @param untilMs By `performance.now()`. */
export function sweepDeliveries(
  deps: ActivityDeps,
  sweeping: Sweeping,
  untilMs: number,
): Promise<Scanned> {
  return scanRows<DeliveryRow>({
    sweeping,
    untilMs,
    claim: (limit) => claimDeliveries(deps, sweeping, limit),
    release: (rows) => releaseDeliveries(deps, rows),
    list: (ids) => deps.workflows.listDeliveries(ids),
    stateOf: ({ id }) => deps.workflows.ofDelivery(id),
    check: async () => undefined,
    restart: (rows) => recordSweepFinds(deps, 'delivery_gone', rows, returnDeliveriesToOutbox),
  });
}

const attemptDueAt = sql`coalesce(d.next_attempt_at, d.created_at)`;

/** Covers all workspaces, in the order of `claimPosts`. */
function claimDeliveries(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  limit: number,
): Promise<DeliveryRow[]> {
  const at = (ms: number): Date => new Date(now().getTime() + ms);
  return query<DeliveryRow>(
    orm.em.fork(),
    sql`with picked as materialized (
        select d.id from deliveries d
        where d.status = 'pending' and ${attemptDueAt} < ${at(-deliveryGraceMs)} and d.synced_round >= d.round
          and (d.checked_at is null or d.checked_at < ${isAlarm ? beganAt : at(-deliveryIntervalMs)})
        order by ${isAlarm ? sql`` : sql`d.checked_at nulls first, `}${attemptDueAt} limit ${sql.lit(limit)}
        for update skip locked)
      update deliveries d set checked_at = ${at(0)} from picked where d.id = picked.id
      returning d.id, d.workspace_id, d.round`,
  );
}

async function releaseDeliveries(
  { orm }: ActivityDeps,
  rows: readonly DeliveryRow[],
): Promise<void> {
  await query(
    orm.em.fork(),
    sql`update deliveries set checked_at = null
      where id = any(${rows.map(({ id }) => id)}::uuid[])
        and workspace_id = any(${rows.map((row) => row.workspace_id)}::uuid[])`,
  );
}

/** Returns pending deliveries to the outbox. A relay then starts their workflows. */
const returnDeliveriesToOutbox = (
  em: Em,
  rows: readonly DeliveryRow[],
): Promise<{ id: string }[]> =>
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
