import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';
import { lookThrough, type LookedThrough, type Sweeping } from './look-through.ts';
import { recordFinds } from './record-find.ts';

/** Which posts are looked at, by their time, and how often the same one. In milliseconds before and after now. */
type Stretch = { readonly fromMs: number; readonly untilMs: number; readonly restMs: number };

/** A post has so long after its time before somebody asks where it is. */
const graceMs = 30_000;

const overdue: Stretch = { fromMs: -Infinity, untilMs: -graceMs, restMs: 50_000 };

/** Posts that still sleep, so that one that was lost goes out on time all the same. */
const ahead: Stretch = { fromMs: -graceMs, untilMs: 3_600_000, restMs: 10 * 60_000 };

/** From its claim or its cancel, a post may wait so long for workers that are busy with others. */
const publishingMs = 5 * 60_000;

/** From a cancel, its workflow has so long to finish what was being sent, in milliseconds. */
const finishingMs = 30_000;

/** An overdue post that Temporal knows of is written down, and told of again, this often at most. */
const foundRestMs = 10 * 60_000;

type Row = {
  id: string;
  workspace_id: string;
  status: 'scheduled' | 'publishing' | 'draft';
  revision: number;
  /** It was overdue, or unfinished, already the last time: not for the moment only, as all are right after an outage. */
  is_late: boolean;
};

export type PostFinds = LookedThrough & { readonly overdue: number };

/**
 * Looks for posts that nothing in Temporal would publish or finish, and for posts whose time has passed without a reason. However
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
  const takes = [
    (limit: number) => takePosts(deps, sweeping, overdue, limit),
    (limit: number) => takePosts(deps, sweeping, ahead, limit),
    (limit: number) => takeUnfinished(deps, sweeping, limit),
  ];
  for (const take of takes) {
    const { looked, unanswered, lost, isCutShort } = await lookThrough<Row>({
      sweeping,
      untilMs: performance.now() + shareMs,
      take,
      letGo: (rows) => letGo(deps, rows),
      list: (ids) => deps.workflows.listPosts(ids),
      ask: ({ id }) => deps.workflows.ofPost(id),
      judge: async (row, state) => {
        if (state !== 'busy' && row.is_late) {
          finds.overdue += await hurry(deps, row, state);
        }
      },
      heal: (rows) => recordFinds(deps, 'workflow_gone', rows, putBack),
    });
    finds.looked += looked;
    finds.unanswered += unanswered;
    finds.lost += lost;
    finds.isCutShort ||= isCutShort;
  }

  return finds;
}

const dueAt = 'coalesce(p.retried_at, p.scheduled_at)';

/**
 * Posts that should have a workflow, of all workspaces; those that were not looked at for longest first, so that ten
 * thousand posts that wait for a network hide no other, or once Temporal lost data those that are due first. What the
 * outbox holds is the relay's. Earlier versions left some of which Temporal was told of more than the database knows,
 * as it was failed over meanwhile; they are looked at like those that agree.
 */
async function takePosts(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  { fromMs, untilMs, restMs }: Stretch,
  limit: number,
): Promise<Row[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date | string => (ms === -Infinity ? '-infinity' : new Date(nowMs + ms));
  return orm.em.fork().execute<Row[]>(
    `with picked as materialized (
       select p.id, p.checked_at from posts p
       where p.status in ('scheduled', 'publishing') and p.synced_revision >= p.revision
         and ${dueAt} >= ? and ${dueAt} < ? and (p.checked_at is null or p.checked_at < ?)
       order by ${isAlarm ? '' : 'p.checked_at nulls first, '}${dueAt} limit ? for update skip locked)
     update posts p set checked_at = ? from picked where p.id = picked.id
     returning p.id, p.workspace_id, p.status, p.revision,
       coalesce(picked.checked_at > greatest(${dueAt}, p.wakes_at) + interval '${graceMs} milliseconds', false)
       and (p.status = 'scheduled' or p.updated_at < ?) as is_late`,
    [at(fromMs), at(untilMs), isAlarm ? beganAt : at(-restMs), limit, at(0), at(-publishingMs)],
  );
}

/** Posts that were cancelled in the middle of a send, and of which a cancel lets channels finish. */
function takeUnfinished(
  { orm, now }: ActivityDeps,
  { beganAt, isAlarm }: Sweeping,
  limit: number,
): Promise<Row[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date => new Date(nowMs + ms);
  const restedAt = isAlarm ? beganAt : at(-overdue.restMs);
  return orm.em.fork().execute<Row[]>(
    `with picked as materialized (
       select p.id, p.checked_at from posts p
       where p.id in (select post_id from post_channels where status in ('publishing', 'retrying'))
         and p.status = 'draft' and p.synced_revision >= p.revision and p.updated_at < ?
         and (p.checked_at is null or p.checked_at < ?)
       order by p.checked_at nulls first limit ? for update of p skip locked)
     update posts p set checked_at = ? from picked where p.id = picked.id
     returning p.id, p.workspace_id, p.status, p.revision,
       coalesce(picked.checked_at > p.updated_at + interval '${finishingMs} milliseconds', false)
       and p.updated_at < ? as is_late`,
    [at(-finishingMs), restedAt, limit, at(0), at(-publishingMs)],
  );
}

async function letGo({ orm }: ActivityDeps, rows: readonly Row[]): Promise<void> {
  await ask(
    orm.em.fork(),
    'update posts set checked_at = null where id = any($1::uuid[]) and workspace_id = any($2::uuid[])',
    [rows.map(({ id }) => id), rows.map((row) => row.workspace_id)],
  );
}

/**
 * Writes down that a post is overdue, unless that was done just now. One that still sleeps is told of again: its
 * workflow may not know its time any more, or not that it was being published or was cancelled, as after a reset. One
 * whose step waits for a worker would lose its turn by that.
 */
const hurry = (deps: ActivityDeps, row: Row, state: 'asleep' | 'waiting'): Promise<number> =>
  recordFinds(deps, 'overdue', [row], async (em) => {
    const [recent] = await em.execute<unknown[]>(
      `select 1 from sweep_finds where post_id = ? and workspace_id = ? and kind = 'overdue' and found_at > ? limit 1`,
      [row.id, row.workspace_id, new Date(deps.now().getTime() - foundRestMs)],
    );
    if (recent !== undefined) {
      return [];
    }

    return state === 'asleep' || row.status === 'scheduled' ? raise(em, row) : lockSame(em, [row]);
  });

/** Of the rows given those that look as they did: none that ended, nor one that the outbox has already. */
const same = `
  select p.id from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[]) as seen (id, workspace_id, status, revision)
  join posts p on p.id = seen.id and p.workspace_id = seen.workspace_id
  where p.status = seen.status and p.revision = seen.revision and p.synced_revision >= p.revision
  for update of p skip locked`;

const seen = (rows: readonly Row[]): unknown[][] => [
  rows.map(({ id }) => id),
  rows.map((row) => row.workspace_id),
  rows.map(({ status }) => status),
  rows.map(({ revision }) => revision),
];

const lockSame = (em: Em, rows: readonly Row[]): Promise<{ id: string }[]> =>
  ask(em, same, seen(rows));

/**
 * Puts a post into the outbox as if it had a new time, or had been cancelled anew, which its workflow is told by a signal:
 * a first one is only started. Above all that Temporal was told of, or the outbox would not have it.
 */
const raise = (em: Em, row: Row): Promise<{ id: string }[]> =>
  ask(
    em,
    `with same as materialized (${same})
     update posts p set revision = p.synced_revision + 1 from same where p.id = same.id returning p.id`,
    seen([row]),
  );

/** Puts posts back into the outbox, from where a relay starts their workflows. */
const putBack = (em: Em, rows: readonly Row[]): Promise<{ id: string }[]> =>
  ask(
    em,
    `with same as materialized (${same})
     update posts p set synced_revision = p.revision - 1 from same where p.id = same.id returning p.id`,
    seen(rows),
  );
