import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ServiceDeps } from '../deps.ts';
import { namesFile } from './library.ts';
import { abandonUnclaimed, removeBytes } from './unclaimed-files.ts';

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
}

/** Removes files that a request began to store more than an hour ago, and the bytes of deleted files. */
async function removeStale(deps: Deps): Promise<void> {
  const em = deps.orm.em.fork();
  await abandonUnclaimed(em, sql`created_at < now() - interval '1 hour'`);
  for (let failures = 0, after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows = await query(
      em,
      sql<{ id: string }>`select id from media_files
        where deleted_at is not null and stored_at is not null and id > ${after} order by id limit ${batch}`,
    );
    const ids = rows.map(({ id }) => id);
    failures += await removeBytes(deps, ids);
    const last = ids.at(-1);
    if (last === undefined || failures >= mostFailures) {
      return;
    }

    after = last;
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
    await removeBytes(deps, ids);
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
     where m.deleted_at is null and m.stored_at is not null and m.created_at < now() - make_interval(days => ${days}::int)
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
    sql`update media_files m set deleted_at = now()
       where m.id = any(${locked.map(({ id }) => id)}::uuid[])
         and ${isUnused}
       returning m.id`,
  );
  return deleted.map(({ id }) => id);
}
