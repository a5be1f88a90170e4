import { Router } from '@koa/router';
import { sql } from 'kysely';
import { isDatabaseReachable, refusalOfWrites } from '../../db/database-errors.ts';
import { countLatePosts, type LatePosts } from '../../db/late-posts.ts';
import type { Orm } from '../../db/orm.ts';
import { dueAt, isOpenPost } from '../../db/post-status.ts';
import { query } from '../../db/query.ts';
import { awaitsRestoreFinish, restoredDatabase } from '../../db/restore-counter.ts';
import { AppError } from '../../domain/errors.ts';
import type { Temporal } from '../../temporal/connect.ts';
import { version } from '../../runtime/version.ts';
import { lastPolls } from '../../temporal/workflow-states.ts';

/** How long an answer is reused, in milliseconds: calls need no key, and ask PostgreSQL and Temporal. */
const freshMs = 1000;

type HealthDeps = {
  readonly readiness: () => Promise<ApiReadiness>;
  readonly status: () => Promise<SystemStatus>;
};

/** For operators, load balancers and orchestrators. Needs no key and is outside the versioned paths. */
export function healthRouter(deps: HealthDeps): Router {
  const ready = fresh(deps.readiness);
  const status = fresh(deps.status);
  return new Router()
    .get(['/livez', '/healthz'], (ctx) => {
      ctx.body = { ok: true };
    })
    .get('/readyz', async (ctx) => {
      const parts = await ready();
      const isReady = isOk(parts);
      ctx.status = isReady ? 200 : 503;
      ctx.body = { ready: isReady, ...parts };
    })
    .get('/status', async (ctx) => {
      const { parts, backlog } = await status();
      const ok = isOk(parts);
      ctx.status = ok ? 200 : 503;
      ctx.body = { ok, version, ...parts, backlog };
    });
}

const isOk = (parts: Readonly<Record<string, string>>): boolean =>
  Object.values(parts).every((part) => part === 'ok');

function fresh<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const atMs = performance.now();
    if (!last || atMs - last.atMs >= freshMs) {
      last = { atMs, answer: ask() };
    }

    return last.answer;
  };
}

/** Time limit of each check, in milliseconds. */
const deadlineMs = 2000;

/** A worker polls at least once a minute. One without a poll for this long, in milliseconds, counts as gone. */
const pollerAgeMs = 75_000;

export type ApiReadiness = { readonly postgresql: string };

/** State of the whole system. Each part is `ok`, or its problem in a few words. */
export type SystemStatus = {
  readonly parts: ApiReadiness & { readonly temporal: string; readonly worker: string };
  /** Null when the database does not answer. */
  readonly backlog: Backlog | null;
};

type Backlog = {
  /** Posts due two minutes ago and not claimed, or claimed 5 minutes ago, longer than an attempt, with an unsent channel. */
  readonly overdue_posts: number;
  /** Posts that changed at least a minute ago and are not synced with Temporal. */
  readonly unsynced_posts: number;
  /** Everything that is overdue by two minutes, whatever the reason. */
  readonly late: LatePosts;
};

/** Largest `overdue_posts` and `unsynced_posts`. */
const mostCounted = 50_000;

export async function readiness(orm: Orm, gate: DatabaseGate): Promise<ApiReadiness> {
  if (!(await isDatabaseReachable(orm))) {
    return { postgresql: 'does not answer' };
  }

  return { postgresql: gate.isOpen() ? 'ok' : 'is being prepared' };
}

/**
 * Checks all parts in parallel: whether a post that is scheduled now would be published.
 *
 * @param now The database's clock.
 */
export async function systemStatus(
  orm: Orm,
  temporal: Temporal,
  gate: DatabaseGate,
  now: () => Date,
): Promise<SystemStatus> {
  const [answers, pollers, backlog] = await Promise.all([
    readiness(orm, gate),
    lastPolls(temporal, deadlineMs),
    readBacklog(orm),
  ]);
  // A read-only database cannot be prepared, so its refusal says more than `is being prepared`.
  const refusal = answers.postgresql === 'does not answer' ? null : await refusalOfWrites(orm);
  const ready = refusal === null ? answers : { postgresql: `takes no writes: ${refusal}` };
  if (pollers === null) {
    return { parts: { ...ready, temporal: 'does not answer', worker: 'unknown' }, backlog };
  }

  if (ready.postgresql === 'ok' && (await awaitsRestoreFinish(orm))) {
    return { parts: { ...ready, temporal: 'ok', worker: restoredDatabase }, backlog };
  }

  const alive = pollers.some((lastSeenMs) => now().getTime() - lastSeenMs < pollerAgeMs);
  return { parts: { ...ready, temporal: 'ok', worker: alive ? 'ok' : 'none polls' }, backlog };
}

async function readBacklog(orm: Orm): Promise<Backlog | null> {
  const overdue = sql`${isOpenPost('p')}
    and ${dueAt('p')} < clock_timestamp() - interval '2 minutes'
    and exists (select from post_channels pc
      where pc.post_id = p.id and pc.workspace_id = p.workspace_id and pc.status = 'scheduled')
    and (p.status = 'scheduled' or p.updated_at < clock_timestamp() - interval '5 minutes')`;
  const unsynced = sql`p.synced_revision < p.revision
    and p.updated_at < clock_timestamp() - interval '1 minute'`;
  const limit = sql.lit(mostCounted);
  const counts = query<Omit<Backlog, 'late'>>(
    orm.em.fork(),
    sql`select
      (select count(*)::int from (select from posts p where ${overdue} limit ${limit}) o) as overdue_posts,
      (select count(*)::int from (select from posts p where ${unsynced} limit ${limit}) u) as unsynced_posts`,
  );
  const now = sql<Date>`clock_timestamp()`;
  const lateness = countLatePosts(orm.em.fork(), { now, lateByMs: 120_000 });
  const counted = Promise.all([counts, lateness]).then(
    ([[row], late]) => (row ? { ...row, late } : null),
    () => null,
  );
  const timeout = new Promise<null>((resolve) => {
    AbortSignal.timeout(deadlineMs).addEventListener('abort', () => resolve(null));
  });
  return Promise.race([counted, timeout]);
}

export type DatabaseGate = ReturnType<typeof createDatabaseGate>;

/** Keeps requests from the database until its schema is current and SECRET_KEY is verified. */
export function createDatabaseGate() {
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
