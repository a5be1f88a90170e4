import { sql } from 'kysely';
import { databaseAnswers } from '../../db/answers.ts';
import { awaitsRestoreFinish, restoredDatabase } from '../../db/beats.ts';
import type { Orm } from '../../db/orm.ts';
import { dueAt } from '../../db/post-columns.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { lastPolls } from '../../temporal/last-polls.ts';

/** In milliseconds: what does not answer in this time is not ready. */
const deadlineMs = 2000;

/** A worker asks for work at least once a minute; one that has not for longer is gone. In milliseconds. */
const pollerAgeMs = 75_000;

/** Whether this process can serve: `ok`, or the problem in a few words. */
export type Readiness = { readonly postgresql: string };

/** The whole system. Each part is `ok`, or its problem in a few words. */
export type Status = {
  readonly parts: Readiness & { readonly temporal: string; readonly worker: string };
  /** Null when the database does not answer. */
  readonly backlog: Backlog | null;
};

/** Up to 1,000 of each are counted. */
type Backlog = {
  /** Posts with a channel that should have begun two minutes ago. */
  readonly overdue_posts: number;
  /** Posts that changed a minute ago or earlier, and that Temporal has not received yet. */
  readonly unsynced_posts: number;
};

export async function readiness(orm: Orm, gate: DatabaseGate): Promise<Readiness> {
  if (!(await databaseAnswers(orm))) {
    return { postgresql: 'does not answer' };
  }

  return { postgresql: gate.isOpen() ? 'ok' : 'is being prepared' };
}

/** Whether a post that is scheduled now would go out: all parts are asked, side by side. */
export async function systemStatus(
  orm: Orm,
  temporal: Temporal,
  gate: DatabaseGate,
): Promise<Status> {
  const [ready, pollers, backlog] = await Promise.all([
    readiness(orm, gate),
    lastPolls(temporal, deadlineMs),
    readBacklog(orm),
  ]);
  if (pollers === null) {
    return { parts: { ...ready, temporal: 'does not answer', worker: 'unknown' }, backlog };
  }

  if (ready.postgresql === 'ok' && (await awaitsRestoreFinish(orm))) {
    return { parts: { ...ready, temporal: 'ok', worker: restoredDatabase }, backlog };
  }

  const alive = pollers.some((lastSeenMs) => Date.now() - lastSeenMs < pollerAgeMs);
  return { parts: { ...ready, temporal: 'ok', worker: alive ? 'ok' : 'none polls' }, backlog };
}

/** Both are read from indexes that hold open posts only. */
async function readBacklog(orm: Orm): Promise<Backlog | null> {
  const overdue = sql`p.status in ('scheduled', 'publishing')
    and ${dueAt('p')} < clock_timestamp() - interval '2 minutes'
    and exists (select from post_channels pc
      where pc.post_id = p.id and pc.workspace_id = p.workspace_id and pc.status = 'scheduled')`;
  const unsynced = sql`p.synced_revision < p.revision
    and p.updated_at < clock_timestamp() - interval '1 minute'`;
  const counted = query<Backlog>(
    orm.em.fork(),
    sql`select
      (select count(*)::int from (select from posts p where ${overdue} limit 1000) o) as overdue_posts,
      (select count(*)::int from (select from posts p where ${unsynced} limit 1000) u) as unsynced_posts`,
  ).then(
    ([row]) => row ?? null,
    () => null,
  );
  const late = new Promise<null>((resolve) => {
    AbortSignal.timeout(deadlineMs).addEventListener('abort', () => resolve(null));
  });
  return Promise.race([counted, late]);
}

/** Stands before the database until that is prepared: it has its schema, and this process the right SECRET_KEY. */
export type DatabaseGate = {
  readonly isOpen: () => boolean;
  readonly open: () => void;
  /** @throws AppError `unavailable` while the gate is closed. */
  readonly assertOpen: () => void;
};

export function createDatabaseGate(): DatabaseGate {
  let isOpen = false;
  return {
    isOpen: () => isOpen,
    open: () => {
      isOpen = true;
    },
    assertOpen: () => {
      if (!isOpen) {
        throw new AppError('unavailable', 'The database is being prepared. Try again.');
      }
    },
  };
}
