import { sql, type RawBuilder } from 'kysely';
import { isUnderWay } from '../../db/channel-status.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { lacksChange, markDatabaseOlder, restoredDatabase } from '../../db/restore-counter.ts';
import type { WorkflowState } from '../../domain/statuses.ts';
import { forEachLimit } from '../../runtime/concurrency.ts';
import type { ActivityDeps } from '../deps.ts';

/** How long before its time a post is checked, so that a lost one is still published on time. In milliseconds. */
const aheadMs = 10 * 60_000;

/** After a post's time, in milliseconds: most posts end within it. */
const graceMs = 30_000;

/** Time between checks of an overdue row, in milliseconds. With two minutes, every second sweep would be early. */
const intervalMs = 110_000;

const batchSize = 500;

/** Concurrent requests to Temporal. Fewer for deliveries, so that their checks do not slow down the starts of lost posts. */
const width = { post: 20, delivery: 4 };

/** After this many requests without an answer Temporal counts as unavailable, and the sweep ends. */
const maxUnanswered = 5;

export type Ensured = {
  looked: number;
  unanswered: number;
  workflowGone: number;
  /** Overdue posts whose workflow slept until another time. */
  overdue: number;
  deliveriesGone: number;
};

type Row = {
  readonly id: string;
  readonly workspace_id: string;
  /** The post's revision, or the delivery's round. */
  readonly version: number;
  readonly is_late: boolean;
};

/** Rows to check, as `one`. Fragments of SQL. */
type Kind = {
  readonly name: 'post' | 'delivery';
  readonly ask: 'ofPost' | 'ofDelivery' | 'ofRemoval';
  readonly table: RawBuilder<unknown>;
  readonly version: RawBuilder<unknown>;
  /** The version that Temporal has. The relay starts the workflows of rows whose version is higher. */
  readonly synced: RawBuilder<unknown>;
  readonly isOpen: RawBuilder<unknown>;
  readonly isTurn: (at: At) => RawBuilder<unknown>;
  /** The row is so late that its workflow must not sleep. */
  readonly isLate: (at: At) => RawBuilder<unknown>;
  readonly dueAt: RawBuilder<unknown>;
};

/** The time of the sweep, moved by milliseconds. */
type At = (ms: number) => RawBuilder<unknown>;

const postDueAt = dueAt('one');

const openPosts: Kind = {
  name: 'post',
  ask: 'ofPost',
  table: sql.table('posts'),
  version: sql`one.revision`,
  synced: sql.ref('synced_revision'),
  isOpen: isOpenPost('one'),
  // A post of the near future is checked once before its time.
  isTurn: (at) => sql`${postDueAt} < ${at(aheadMs)} and coalesce(one.checked_at < case
    when ${postDueAt} < ${at(-graceMs)} then ${at(-intervalMs)}
    else ${postDueAt} - ${sql.lit(aheadMs)} * interval '1 millisecond' end, true)`,
  isLate: (at) => sql`greatest(${postDueAt}, one.wakes_at) < ${at(-intervalMs)}`,
  dueAt: postDueAt,
};

/** Cancelled posts with channels that have to end. */
const draftsBeingSent: Kind = {
  ...openPosts,
  isOpen: sql`one.status = 'draft' and one.id in (select post_id from post_channels pc where ${isUnderWay})`,
  isTurn: (at) => sql`greatest(one.updated_at, one.checked_at) < ${at(-intervalMs)}`,
  isLate: () => sql`true`,
  dueAt: sql`one.updated_at`,
};

const removals: Kind = {
  ...draftsBeingSent,
  ask: 'ofRemoval',
  isOpen: sql`one.is_being_removed`,
  isLate: () => sql`false`,
};

const attemptAt = sql`coalesce(one.next_attempt_at, one.created_at)`;

const deliveries: Kind = {
  name: 'delivery',
  ask: 'ofDelivery',
  table: sql.table('deliveries'),
  version: sql`one.round`,
  synced: sql.ref('synced_round'),
  isOpen: sql`one.status = 'pending'`,
  isTurn: (at) => sql`greatest(${attemptAt}, one.checked_at) < ${at(-intervalMs)}`,
  isLate: () => sql`false`,
  dueAt: attemptAt,
};

/**
 * Ensures that posts which are overdue or due soon, and late deliveries, have a running workflow
 * (docs/internals/syncing.md, The sweep).
 *
 * @param shareMs Time for each kind of row.
 */
export async function ensureWorkflows(deps: ActivityDeps, shareMs: number): Promise<Ensured> {
  const sums = { looked: 0, unanswered: 0, workflowGone: 0, overdue: 0, deliveriesGone: 0 };
  for (const kind of [openPosts, draftsBeingSent, removals, deliveries]) {
    await ensure(deps, kind, performance.now() + shareMs, sums);
  }

  return sums;
}

async function ensure(
  deps: ActivityDeps,
  kind: Kind,
  untilMs: number,
  sums: Ensured,
): Promise<void> {
  const lost = kind.name === 'post' ? 'workflowGone' : 'deliveriesGone';
  for (let rows = await claim(deps, kind); rows.length > 0; rows = await claim(deps, kind)) {
    const states = await statesOf(deps, kind, rows, untilMs);
    const {
      gone = [],
      asleep = [],
      unknown = [],
      unasked = [],
    } = Object.groupBy(rows, (row) => states.get(row) ?? 'unasked');
    const late = await thatMayWake(
      deps,
      asleep.filter((row) => row.is_late),
    );
    const left = [...unknown, ...unasked];
    sums.unanswered += unknown.length;
    sums.looked += rows.length - left.length;
    sums[lost] += await returnToOutbox(deps, kind, gone, 'gone');
    sums.overdue += await returnToOutbox(deps, kind, late, 'asleep');
    if (left.length > 0) {
      await release(deps, kind, left);
      break;
    }
  }
}

/** Claims rows for this sweep, across workspaces. The longest unchecked come first. */
function claim({ orm, now }: ActivityDeps, kind: Kind): Promise<Row[]> {
  const nowMs = now().getTime();
  const at: At = (ms) => sql`${new Date(nowMs + ms)}::timestamptz`;
  const { table, version, synced, isOpen, isTurn, isLate, dueAt: due } = kind;
  return query<Row>(
    orm.em.fork(),
    sql`with picked as materialized (
        select one.id, ${isLate(at)} as is_late from ${table} one
        where ${isOpen} and one.${synced} >= ${version} and ${isTurn(at)}
        order by one.checked_at nulls first, ${due} limit ${sql.lit(batchSize)} for update of one skip locked)
      update ${table} one set checked_at = ${at(0)} from picked where one.id = picked.id
      returning one.id, one.workspace_id, ${version} as version, picked.is_late`,
  );
}

async function statesOf(
  { workflows }: ActivityDeps,
  { ask, name }: Kind,
  rows: readonly Row[],
  untilMs: number,
): Promise<ReadonlyMap<Row, WorkflowState>> {
  const states = new Map<Row, WorkflowState>();
  let unanswered = 0;
  await forEachLimit(rows, width[name], async (row) => {
    if (unanswered < maxUnanswered && performance.now() < untilMs) {
      const state = await workflows[ask](row.id);
      unanswered += state === 'unknown' ? 1 : 0;
      states.set(row, state);
    }
  });
  return states;
}

/** Leaves out posts of which Temporal did not answer, or whose workflow knows a change that the database lost. */
async function thatMayWake(
  { orm, log, workflows }: ActivityDeps,
  late: readonly Row[],
): Promise<Row[]> {
  const awake = new Set<Row>();
  await forEachLimit(late, width.post, async (row) => {
    const { id: postId, workspace_id: workspaceId } = row;
    const known = await workflows.knownOfPost(postId);
    if (!known) {
      return;
    }

    const em = orm.em.fork();
    const [lacking] = await query(
      em,
      sql`select from posts
        where id = ${postId} and workspace_id = ${workspaceId} and ${lacksChange(known.revision)}`,
    );
    if (lacking) {
      await markDatabaseOlder(em, known.at);
      log.error({ post: postId, workspace: workspaceId }, restoredDatabase);
    } else {
      awake.add(row);
    }
  });
  return late.filter((row) => awake.has(row));
}

const listed = (rows: readonly Row[]): RawBuilder<unknown> =>
  sql`unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map((row) => row.workspace_id)}::uuid[],
    ${rows.map(({ version }) => version)}::int[]) as seen (id, workspace_id, version)`;

async function release(
  { orm }: ActivityDeps,
  { table }: Kind,
  rows: readonly Row[],
): Promise<void> {
  await query(
    orm.em.fork(),
    sql`update ${table} one set checked_at = null from ${listed(rows)}
      where one.id = seen.id and one.workspace_id = seen.workspace_id`,
  );
}

/** Lines for the rows of one batch: Temporal may have lost thousands. */
const maxLines = 20;

const sentences = {
  gone: 'no workflow runs for this row: the relay starts one',
  asleep: 'the workflow of this overdue post still sleeps: the relay wakes it',
};

/** @returns the number of rows; not of those that have changed since the claim. */
async function returnToOutbox(
  { orm, log }: ActivityDeps,
  { name, table, version, synced, isOpen }: Kind,
  rows: readonly Row[],
  why: keyof typeof sentences,
): Promise<number> {
  if (rows.length === 0) {
    return 0;
  }

  // A workflow that sleeps may know a higher revision than a restored database.
  const change =
    why === 'gone' ? sql`${synced} = ${version} - 1` : sql`revision = one.revision + 1000`;
  const returned = await query<{ id: string; workspace_id: string }>(
    orm.em.fork(),
    sql`with same as materialized (
        select one.id from ${listed(rows)} join ${table} one on one.id = seen.id and one.workspace_id = seen.workspace_id
        where ${isOpen} and ${version} = seen.version and one.${synced} >= ${version} for update of one skip locked)
      update ${table} one set ${change} from same where one.id = same.id returning one.id, one.workspace_id`,
  );
  for (const { id, workspace_id: workspace } of returned.slice(0, maxLines)) {
    log.warn({ [name]: id, workspace }, sentences[why]);
  }

  if (returned.length > maxLines) {
    log.warn({ rows: returned.length - maxLines }, `${sentences[why]}, for further rows`);
  }

  return returned.length;
}
