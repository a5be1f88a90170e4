import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query, db } from '../../db/query.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ServiceDeps } from '../deps.ts';
import { namesFile } from './library.ts';
import { abandonStale, removeAbandoned, abandonUnknown } from './unclaimed-files.ts';

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

const everyMs = 60 * 60_000;

/** Files per statement or transaction, to keep locks short. */
const batch = 100;

/** After this many failed removals the storage counts as unavailable, and the rest waits for the next sweep. */
const mostFailures = 20;

/**
 * Removes files that a crash, a lost response or a storage outage left behind. A failed step does not stop the others.
 */
export async function sweepMedia(deps: Deps): Promise<void> {
  const { log, media } = deps;
  const pass = (what: string, step: () => Promise<unknown>): Promise<unknown> =>
    step().catch((error: unknown) => log.warn({ error: describeError(error) }, what));

  await pass('sweep of the staging folder failed', () =>
    media.staging.sweep((file, error) =>
      log.warn({ error: describeError(error), file }, 'staged file not removed'),
    ),
  );
  await pass('unused files not deleted', () => removeUnused(deps, media.keepUnusedDays));
  await pass('unclaimed files not removed', () => removeStale(deps));
  await pass('comparison of the media storage failed', () => compareStorage(deps));
}

async function removeStale(deps: Deps): Promise<void> {
  for (let failures = 0; failures < mostFailures;) {
    const ids = await abandonStale(deps.orm.em.fork(), batch);
    failures += await removeAbandoned(deps, ids);
    if (ids.length < batch) {
      return;
    }
  }
}

/** Sweeps now and every hour. @returns a function that stops it. */
export function keepSwept(deps: Deps): () => void {
  let isSweeping = false;
  const sweep = async (): Promise<void> => {
    if (!isSweeping) {
      isSweeping = true;
      await sweepMedia(deps);
      isSweeping = false;
    }
  };
  void sweep();
  const timer = setInterval(() => void sweep(), everyMs);
  return () => clearInterval(timer);
}

/** Limit per sweep; the rest follows in the next ones. */
const mostBatches = 100;

/**
 * Deletes files that are older than `days` and unused, as `DELETE /media/{id}` does.
 *
 * @param days 0 deletes none.
 */
async function removeUnused(deps: Deps, days: number): Promise<void> {
  if (days === 0) {
    return;
  }

  for (let round = 0; round < mostBatches; round += 1) {
    const ids = await deps.orm.em.fork().transactional((em) => deleteSome(em, days));
    if (ids.length === 0) {
      return;
    }

    deps.log.info({ files: ids }, `deleted files unused for ${days} days`);
    await removeAbandoned(deps, ids);
  }
}

/** SQL: whether neither a post nor a channel's defaults use the file `m`. */
const isUnused = sql<boolean>`not exists (
    select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)
  and not exists (
    select from channels c where c.workspace_id = m.workspace_id and ${namesFile('c', sql`m.id`)})`;

/** Covers all workspaces; no content leaves the database. @returns the ids of the deleted files. */
async function deleteSome(em: Em, days: number): Promise<string[]> {
  const locked = await query<{ id: string }>(
    em,
    sql`select m.id from media_files m
     where m.deleted_at is null and m.created_at < now() - make_interval(days => ${days}::int)
       and ${isUnused}
     order by m.created_at limit ${batch} for update of m skip locked`,
  );
  if (locked.length === 0) {
    return [];
  }

  // A call that attaches a file to a post locks its row. A separate statement sees posts that were committed just
  // before the lock.
  const deleted = await query<{ id: string }>(
    em,
    sql`with gone as (
       update media_files m set deleted_at = now()
       where m.id = any(${locked.map(({ id }) => id)}::uuid[])
         and ${isUnused}
       returning m.id
     )
     insert into unsettled_files (id, noted_at, is_lost) select id, now(), true from gone
     on conflict do nothing returning id`,
  );
  return deleted.map(({ id }) => id);
}

/** About how many stored files one sweep compares. */
const mostAtATime = 10_000;

/** Keys of `newId`: UUIDv7, whose first 48 bits are the creation time. */
const ourKey = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/v;

const madeAtMs = (key: string): number => Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16);

/**
 * Removes stored files that the database does not know. Each sweep compares one part of the storage and continues
 * where the last one ended.
 *
 * Compares only files that are at least a day old and younger than this database: a new database on an old storage
 * knows none of its files, and must not remove them. Skips everything when another database uses the storage too.
 */
async function compareStorage(deps: Pick<ServiceDeps, 'orm' | 'log' | 'media'>): Promise<void> {
  const { orm, log, media } = deps;
  const em = orm.em.fork();
  const { database, begin, end } = await facts(em);
  const others = (await media.storage.markUsed(database)).filter((each) => each !== database);
  if (others.length > 0) {
    log.warn(
      { database, others },
      'another database uses this media storage, unknown files are kept',
    );
    return;
  }

  let position = await positionOf(em);
  for (let seen = 0; seen < mostAtATime;) {
    const { keys, next, obstacle } = await media.storage.list(position);
    if (obstacle !== undefined) {
      log.warn({ error: describeError(obstacle) }, 'part of the media storage not compared');
    }

    const compared = keys.filter(
      (key) => ourKey.test(key) && madeAtMs(key) > begin && madeAtMs(key) < end,
    );
    const lost = await abandonUnknown(em, compared);
    if (lost.length > 0) {
      log.warn({ files: lost }, 'removing stored files that are not in the database');
      await removeAbandoned(deps, lost);
    }

    await setPosition(em, next);
    if (next === null) {
      return;
    }

    position = next;
    seen += Math.max(1, keys.length);
  }
}

type Facts = {
  /** Unique: a database restored from a dump has another value. */
  readonly database: string;
  /** Range of file ages to compare: milliseconds since 1970, by the database's clock. */
  readonly begin: number;
  readonly end: number;
};

async function facts(em: Em): Promise<Facts> {
  const [row] = await query<Facts>(
    em,
    sql`select s.system_identifier || '-' || d.oid as database,
       (select extract(epoch from min(executed_at)) * 1000 from migrations)::float8 as begin,
       (extract(epoch from now() - interval '1 day') * 1000)::float8 as end
     from pg_control_system() s, pg_database d where d.datname = current_database()`,
  );
  if (!row) {
    throw new Error('The database returned no facts about itself.');
  }

  return row;
}

const sweepName = 'media storage';

async function positionOf(em: Em): Promise<string | null> {
  const [row] = await query(
    em,
    db.selectFrom('sweep_positions').select('position').where('sweep', '=', sweepName),
  );
  return row?.position ?? null;
}

/** Concurrent sweeps do the same work, and the later position wins. */
async function setPosition(em: Em, position: string | null): Promise<void> {
  await (position === null
    ? query(em, db.deleteFrom('sweep_positions').where('sweep', '=', sweepName))
    : query(
        em,
        db
          .insertInto('sweep_positions')
          .values({ sweep: sweepName, position })
          .onConflict((conflict) => conflict.column('sweep').doUpdateSet({ position })),
      ));
}
