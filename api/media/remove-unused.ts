import type { Em } from '../../db/orm.ts';
import type { ApiDeps } from '../deps.ts';
import { removeLost } from './unsettled-files.ts';

/** In one transaction, so that none holds many files long. */
const batch = 100;

/** In one sweep; what is left goes with the next ones. */
const mostBatches = 100;

/**
 * Deletes files that have been in a media library for so many days and that no post has, as `DELETE /media/{id}` does.
 *
 * @param days None are deleted where it is 0.
 */
export async function removeUnused(
  deps: Pick<ApiDeps, 'orm' | 'log' | 'media'>,
  days: number,
): Promise<void> {
  if (days === 0) {
    return;
  }

  for (let round = 0; round < mostBatches; round += 1) {
    const ids = await deps.orm.em.fork().transactional((em) => deleteSome(em, days));
    if (ids.length === 0) {
      return;
    }

    deps.log.info({ files: ids }, `files that no post had for ${days} days are deleted`);
    await removeLost(deps, ids);
  }
}

/** Of all workspaces: it reads nothing that leaves the database. @returns the ids of the deleted files. */
async function deleteSome(em: Em, days: number): Promise<string[]> {
  const locked = await em.execute<{ id: string }[]>(
    `select m.id from media_files m
     where m.deleted_at is null and m.created_at < now() - make_interval(days => ?)
       and not exists (select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)
     order by m.created_at limit ? for update of m skip locked`,
    [days, batch],
  );
  if (locked.length === 0) {
    return [];
  }

  // Whoever gives a file to a post holds its row meanwhile. A statement of its own sees what they committed just before
  // it was locked here.
  const deleted = await em.execute<{ id: string }[]>(
    `with gone as (
       update media_files m set deleted_at = now()
       where m.id in (?)
         and not exists (select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)
       returning m.id
     )
     insert into unsettled_files (id, noted_at, is_lost) select id, now(), true from gone
     on conflict do nothing returning id`,
    [locked.map(({ id }) => id)],
  );
  return deleted.map(({ id }) => id);
}
