import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { db, query } from '../../db/query.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ApiDeps } from '../deps.ts';
import { abandonUnknown, removeAbandoned } from './unclaimed-files.ts';

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
export async function compareStorage(deps: Pick<ApiDeps, 'orm' | 'log' | 'media'>): Promise<void> {
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

const sweep = 'media storage';

async function positionOf(em: Em): Promise<string | null> {
  const [row] = await query(
    em,
    db.selectFrom('sweep_positions').select('position').where('sweep', '=', sweep),
  );
  return row?.position ?? null;
}

/** Concurrent sweeps do the same work, and the later position wins. */
async function setPosition(em: Em, position: string | null): Promise<void> {
  await (position === null
    ? query(em, db.deleteFrom('sweep_positions').where('sweep', '=', sweep))
    : query(
        em,
        db
          .insertInto('sweep_positions')
          .values({ sweep, position })
          .onConflict((conflict) => conflict.column('sweep').doUpdateSet({ position })),
      ));
}
