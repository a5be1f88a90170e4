import type { Em } from '../../db/orm.ts';
import type { ActivityDeps } from '../deps.ts';
import { lookThrough, type LookedThrough } from './look-through.ts';
import { recordFind } from './record-find.ts';

/** Which posts are looked at, by their time, and how often the same one. In milliseconds before and after now. */
type Stretch = { readonly fromMs: number; readonly untilMs: number; readonly restMs: number };

/** A post has so long after its time before somebody asks where it is. */
const graceMs = 30_000;

const overdue: Stretch = { fromMs: -Infinity, untilMs: -graceMs, restMs: 50_000 };

/** Posts that still sleep, so that one that was lost goes out on time all the same. */
const ahead: Stretch = { fromMs: -graceMs, untilMs: 3_600_000, restMs: 10 * 60_000 };

/** From its claim, a post may wait so long for workers that are busy with others. */
const publishingMs = 5 * 60_000;

/** An overdue post that Temporal knows of is written down, and told of again, this often at most. */
const foundRestMs = 10 * 60_000;

type Row = {
  id: string;
  workspace_id: string;
  status: 'scheduled' | 'publishing';
  revision: number;
  /** It was overdue already the last time: not for the moment only, as all are right after an outage. */
  is_late: boolean;
};

export type PostFinds = LookedThrough & { readonly workflowGone: number; readonly overdue: number };

/**
 * Looks for posts that nothing in Temporal would publish, and for posts whose time has passed without a reason. However
 * many are overdue, those that sleep have their share of the sweep, and the other way round.
 */
export async function sweepPosts(deps: ActivityDeps): Promise<PostFinds> {
  const finds = { looked: 0, unanswered: 0, workflowGone: 0, overdue: 0 };
  for (const stretch of [overdue, ahead]) {
    const { looked, unanswered } = await lookThrough<Row>({
      take: (limit) => takePosts(deps, stretch, limit),
      ask: ({ id }) => deps.workflows.ofPost(id),
      judge: async (row, state) => {
        if (state === 'gone' && (await startAnew(deps, row))) {
          finds.workflowGone += 1;
        }

        if (state === 'running' && row.is_late && (await hurry(deps, row))) {
          finds.overdue += 1;
        }
      },
    });
    finds.looked += looked;
    finds.unanswered += unanswered;
  }

  return finds;
}

const dueAt = 'coalesce(p.retried_at, p.scheduled_at)';

/**
 * Posts that should have a workflow, of all workspaces; those that were not looked at for longest first, so that ten
 * thousand posts that wait for a network hide no other. What the outbox holds is the relay's.
 */
async function takePosts(
  { orm, now }: ActivityDeps,
  { fromMs, untilMs, restMs }: Stretch,
  limit: number,
): Promise<Row[]> {
  const nowMs = now().getTime();
  const at = (ms: number): Date | string => (ms === -Infinity ? '-infinity' : new Date(nowMs + ms));
  return orm.em.fork().execute<Row[]>(
    `with picked as materialized (
       select p.id, p.checked_at from posts p
       where p.status in ('scheduled', 'publishing') and p.synced_revision = p.revision
         and ${dueAt} >= ? and ${dueAt} < ? and (p.checked_at is null or p.checked_at < ?)
       order by p.checked_at nulls first, ${dueAt} limit ? for update skip locked)
     update posts p set checked_at = ? from picked where p.id = picked.id
     returning p.id, p.workspace_id, p.status, p.revision,
       coalesce(picked.checked_at > ${dueAt} + interval '${graceMs} milliseconds', false)
       and (p.status = 'scheduled' or p.updated_at < ?) as is_late`,
    [at(fromMs), at(untilMs), at(-restMs), limit, at(0), at(-publishingMs)],
  );
}

/** Puts a post that looks as it did back into the outbox, from where a relay starts its workflow. */
const startAnew = (deps: ActivityDeps, row: Row): Promise<boolean> =>
  recordFind(deps, findOf(row, 'workflow_gone'), (em) => putBack(em, row));

/**
 * Writes down that a post is overdue, unless that was done just now. One that still sleeps is told of again: its
 * workflow may not know its time any more, as after a reset.
 */
const hurry = (deps: ActivityDeps, row: Row): Promise<boolean> =>
  recordFind(deps, findOf(row, 'overdue'), async (em) => {
    const [recent] = await em.execute<unknown[]>(
      `select 1 from sweep_finds where post_id = ? and workspace_id = ? and kind = 'overdue' and found_at > ? limit 1`,
      [row.id, row.workspace_id, new Date(deps.now().getTime() - foundRestMs)],
    );
    return (
      recent === undefined && (row.status === 'publishing' ? isSame(em, row) : putBack(em, row))
    );
  });

const asItWas = 'id = ? and workspace_id = ? and status = ? and revision = ?';

/** @returns false when the post has changed: it ended, or the outbox has it already. */
async function putBack(em: Em, { id, workspace_id, status, revision }: Row): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `update posts set synced_revision = revision - 1 where ${asItWas} and synced_revision = revision returning id`,
    [id, workspace_id, status, revision],
  );
  return rows.length === 1;
}

async function isSame(em: Em, { id, workspace_id, status, revision }: Row): Promise<boolean> {
  const rows = await em.execute<unknown[]>(`select id from posts where ${asItWas}`, [
    id,
    workspace_id,
    status,
    revision,
  ]);
  return rows.length === 1;
}

const findOf = ({ id, workspace_id }: Row, kind: 'workflow_gone' | 'overdue') => ({
  kind,
  workspaceId: workspace_id,
  postId: id,
  deliveryId: null,
});
