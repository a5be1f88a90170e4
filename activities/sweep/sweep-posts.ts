import { sql, type RawBuilder } from 'kysely';
import { dueAt } from '../../db/post-columns.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { ActivityDeps } from '../deps.ts';
import { recordFinds } from './record-finds.ts';
import { scanRows, type Scanned, type Sweeping } from './scan-rows.ts';

/** Which posts are scanned, by their time, and how often the same one. In milliseconds before and after now. */
type Stretch = { readonly fromMs: number; readonly untilMs: number; readonly restMs: number };

/** A post has so long after its time before it is scanned. */
const graceMs = 30_000;

const overdue: Stretch = { fromMs: -Infinity, untilMs: -graceMs, restMs: 50_000 };

/** Posts that still sleep, so that one that was lost goes out on time all the same. */
const ahead: Stretch = { fromMs: -graceMs, untilMs: 3_600_000, restMs: 10 * 60_000 };

/** From its claim or its cancel, a post may wait so long for workers that are busy with others. */
const publishingMs = 5 * 60_000;

/** From a cancel, its workflow has so long to finish what was being sent, in milliseconds. */
const finishingMs = 30_000;

/** An overdue post that has a workflow is recorded, and synced once more, this often at most. */
const foundRestMs = 10 * 60_000;

type Row = {
  id: string;
  workspace_id: string;
  status: 'scheduled' | 'publishing' | 'draft';
  revision: number;
  /** It was overdue, or unfinished, already the last time: not for the moment only, as all are right after an outage. */
  is_late: boolean;
};

export type PostFinds = Scanned & { readonly overdue: number };

/**
 * Finds posts that nothing in Temporal would publish or finish, and posts whose time has passed without a reason. However
 * many are overdue, those that sleep have their share of the sweep, and the other way round.
 *
 * @param shareMs How long each may take.
 */
export async function sweepPosts(
  deps: ActivityDeps,
  sweeping: Sweeping,
  shareMs: number,
): Promise<PostFinds> {
  const finds = { looked: 0, unanswered: 0, lost: 0, overdue: 0, isCutShort: false };
  const claims = [
    (limit: number) => claimPosts(deps, sweeping, overdue, limit),
    (limit: number) => claimPosts(deps, sweeping, ahead, limit),
    (limit: number) => claimUnfinished(deps, sweeping, limit),
  ];
  for (const claim of claims) {
    const { looked, unanswered, lost, isCutShort } = await scanRows<Row>({
      sweeping,
      untilMs: performance.now() + shareMs,
      claim,
      release: (rows) => release(deps, rows),
      list: (ids) => deps.workflows.listPosts(ids),
      stateOf: ({ id }) => deps.workflows.ofPost(id),
      check: async (row, state) => {
        if (state !== 'busy' && row.is_late) {
          const found = await recordOverdue(deps, row, state);
          finds.overdue += found; // Rows are checked side by side: not read before the await.
        }
      },
      restart: (rows) => recordFinds(deps, 'workflow_gone', rows, returnToOutbox),
    });
    finds.looked += looked;
    finds.unanswered += unanswered;
    finds.lost += lost;
    finds.isCutShort ||= isCutShort;
  }

  return finds;
}

/**
 * Posts that should have a workflow, of all workspaces; those that were not scanned for longest first, so that ten
 * thousand posts that wait for a network hide no other, or once Temporal lost data those that are due first. What the
 * outbox holds is the relay's. Earlier versions left some whose synced revision is above the row's, as the database was
 * failed over meanwhile; they are scanned like those that agree.
 */
function claimPosts(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  { fromMs, untilMs, restMs }: Stretch,
  limit: number,
): Promise<Row[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date => new Date(nowMs + ms);
  const from = fromMs === -Infinity ? sql`'-infinity'` : sql`${at(fromMs)}`;
  return query<Row>(
    orm.em.fork(),
    sql`with picked as materialized (
        select p.id, p.checked_at from posts p
        where p.status in ('scheduled', 'publishing') and p.synced_revision >= p.revision
          and ${dueAt('p')} >= ${from}::timestamptz and ${dueAt('p')} < ${at(untilMs)}
          and (p.checked_at is null or p.checked_at < ${isAlarm ? beganAt : at(-restMs)})
        order by ${isAlarm ? sql`` : sql`p.checked_at nulls first, `}${dueAt('p')} limit ${sql.lit(limit)}
        for update skip locked)
      update posts p set checked_at = ${at(0)} from picked where p.id = picked.id
      returning p.id, p.workspace_id, p.status, p.revision,
        coalesce(picked.checked_at > greatest(${dueAt('p')}, p.wakes_at) + ${milliseconds(graceMs)}, false)
        and (p.status = 'scheduled' or p.updated_at < ${at(-publishingMs)}) as is_late`,
  );
}

/** Posts that were cancelled in the middle of a send, and of which a cancel lets channels finish. */
function claimUnfinished(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  limit: number,
): Promise<Row[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date => new Date(nowMs + ms);
  return query<Row>(
    orm.em.fork(),
    sql`with picked as materialized (
        select p.id, p.checked_at from posts p
        where p.id in (select post_id from post_channels where status in ('publishing', 'retrying'))
          and p.status = 'draft' and p.synced_revision >= p.revision and p.updated_at < ${at(-finishingMs)}
          and (p.checked_at is null or p.checked_at < ${isAlarm ? beganAt : at(-overdue.restMs)})
        order by p.checked_at nulls first limit ${sql.lit(limit)} for update of p skip locked)
      update posts p set checked_at = ${at(0)} from picked where p.id = picked.id
      returning p.id, p.workspace_id, p.status, p.revision,
        coalesce(picked.checked_at > p.updated_at + ${milliseconds(finishingMs)}, false)
        and p.updated_at < ${at(-publishingMs)} as is_late`,
  );
}

const milliseconds = (count: number): RawBuilder<unknown> =>
  sql`${sql.lit(count)} * interval '1 millisecond'`;

async function release({ orm }: ActivityDeps, rows: readonly Row[]): Promise<void> {
  await query(
    orm.em.fork(),
    sql`update posts set checked_at = null
      where id = any(${rows.map(({ id }) => id)}::uuid[])
        and workspace_id = any(${rows.map((row) => row.workspace_id)}::uuid[])`,
  );
}

/**
 * Records that a post is overdue, unless that was done just now. One that still sleeps is signalled again: its workflow
 * may not know its time any more, or not that it was being published or was cancelled, as after a reset. One whose step
 * waits for a worker would lose its place in the queue by that.
 */
const recordOverdue = (
  deps: ActivityDeps,
  row: Row,
  state: 'asleep' | 'waiting',
): Promise<number> =>
  recordFinds(deps, 'overdue', [row], async (em) => {
    const [recent] = await query(
      em,
      sql`select 1 from sweep_finds
        where post_id = ${row.id} and workspace_id = ${row.workspace_id} and kind = 'overdue'
          and found_at > ${new Date(deps.now().getTime() - foundRestMs)} limit 1`,
    );
    if (recent !== undefined) {
      return [];
    }

    return state === 'asleep' || row.status === 'scheduled'
      ? raiseRevision(em, row)
      : query<{ id: string }>(em, lockUnchanged([row]));
  });

/** SQL: of the rows given those that look as they did: none that ended, nor one that the outbox has already. */
const lockUnchanged = (rows: readonly Row[]): RawBuilder<{ id: string }> => sql`
  select p.id from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.workspace_id)}::uuid[],
    ${rows.map(({ status }) => status)}::text[], ${rows.map(({ revision }) => revision)}::int[])
    as seen (id, workspace_id, status, revision)
  join posts p on p.id = seen.id and p.workspace_id = seen.workspace_id
  where p.status = seen.status and p.revision = seen.revision and p.synced_revision >= p.revision
  for update of p skip locked`;

/**
 * Puts a post into the outbox as if it had a new time, or had been cancelled anew, for which its sync sends a signal: a
 * first revision is only started. Above every revision that was synced, or the outbox would not have it.
 */
const raiseRevision = (em: Em, row: Row): Promise<{ id: string }[]> =>
  query<{ id: string }>(
    em,
    sql`with same as materialized (${lockUnchanged([row])})
      update posts p set revision = p.synced_revision + 1 from same where p.id = same.id returning p.id`,
  );

/** Puts posts back into the outbox, from where a relay starts their workflows. */
const returnToOutbox = (em: Em, rows: readonly Row[]): Promise<{ id: string }[]> =>
  query<{ id: string }>(
    em,
    sql`with same as materialized (${lockUnchanged(rows)})
      update posts p set synced_revision = p.revision - 1 from same where p.id = same.id returning p.id`,
  );
