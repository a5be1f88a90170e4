import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ApiDeps } from '../deps.ts';
import { compareStorage } from './compare-storage.ts';
import { abandonStale, removeAbandoned } from './unclaimed-files.ts';
import { namesFile } from './used-by-channels.ts';

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

const everyMs = 60 * 60_000;

/** How many files one statement or transaction takes, so that none holds many long. */
const batch = 100;

/** So many files that cannot be removed mean that the storage is away: the others wait for the next sweep. */
const mostFailures = 20;

/**
 * Removes what a crash, a lost answer or a storage that was away left behind. A step that fails holds up no other.
 */
export async function sweepMedia(deps: Deps): Promise<void> {
  const { log, media } = deps;
  const pass = (what: string, step: () => Promise<unknown>): Promise<unknown> =>
    step().catch((error: unknown) => log.warn({ error: describeError(error) }, what));

  await pass('the staging folder could not be swept', () =>
    media.staging.sweep((file, error) =>
      log.warn({ error: describeError(error), file }, 'a staged file could not be removed'),
    ),
  );
  await pass('files that no post has could not be deleted', () =>
    removeUnused(deps, media.keepUnusedDays),
  );
  await pass('files that no row claims could not be removed', () => removeStale(deps));
  await pass('the media storage could not be compared with the library', () =>
    compareStorage(deps),
  );
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

/** Sweeps now and every hour. @returns a function that ends it. */
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

/** In one sweep; what is left goes with the next ones. */
const mostBatches = 100;

/**
 * Deletes files that have been in a media library for so many days and that no post has, as `DELETE /media/{id}` does.
 *
 * @param days None are deleted where it is 0.
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

    deps.log.info({ files: ids }, `files that no post had for ${days} days are deleted`);
    await removeAbandoned(deps, ids);
  }
}

/** SQL: whether neither a post nor the defaults of a channel name the file `m`. */
const isUnused = sql<boolean>`not exists (
    select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)
  and not exists (
    select from channels c where c.workspace_id = m.workspace_id and ${namesFile('c', sql`m.id`)})`;

/** Of all workspaces: it reads nothing that leaves the database. @returns the ids of the deleted files. */
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

  // A call that gives a file to a post holds its row meanwhile. A statement of its own sees what that committed just
  // before it was locked here.
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
