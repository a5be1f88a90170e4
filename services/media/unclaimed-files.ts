import { raw } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import { MediaFile } from '../../db/entities/media.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ServiceDeps } from '../deps.ts';

// A crash or a lost response may come between the bytes of a file and its row. So the row comes first, without
// `stored_at`, and is committed before the bytes are stored; and it keeps `stored_at` after its deletion until the bytes
// are removed. The sweep finds both by `media_files_unsettled`.

/** Commits the row of a file whose bytes are stored next. */
export async function beginFile(
  em: Em,
  workspaceId: string,
  file: Omit<MediaFile, 'workspaceId' | 'createdAt' | 'storedAt' | 'deletedAt'>,
): Promise<void> {
  const createdAt = raw<Date>('now()'); // The sweep compares it with the database's clock.
  await em.insert(MediaFile, { ...file, workspaceId, createdAt, storedAt: null, deletedAt: null });
}

/**
 * Puts stored files into the library, in the caller's transaction.
 *
 * @throws AppError `unavailable` when the request took so long that the sweep abandoned its files.
 */
export async function claimFiles(em: Em, ids: readonly string[], at: Date): Promise<MediaFile[]> {
  const rows = await query<object>(
    em,
    sql`update media_files set stored_at = ${at}, created_at = ${at}
        where id = any(${ids}::uuid[]) and stored_at is null and deleted_at is null returning *`,
  );
  if (rows.length < ids.length) {
    throw new AppError('unavailable', 'The request took too long. Send it again.', {
      retryAfter: 1,
    });
  }

  return rows.map((row) => em.map(MediaFile, row));
}

/**
 * Marks files that are not in the library for removal. Skips files that a running transaction has locked: a COMMIT
 * without a response may still succeed.
 */
export const abandonUnclaimed = (em: Em, which: RawBuilder<unknown>): Promise<{ id: string }[]> =>
  query<{ id: string }>(
    em,
    sql`update media_files set deleted_at = now(), stored_at = now()
        where id in (select id from media_files
          where stored_at is null and deleted_at is null and ${which} for update skip locked)
        returning id`,
  );

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

/**
 * Removes the bytes of deleted files, and the rows that no post needs. A failed removal is logged; a later sweep
 * repeats it.
 *
 * @returns how many removals failed.
 */
export async function removeBytes(
  { orm, log, media: { storage } }: Deps,
  ids: readonly string[],
): Promise<number> {
  const removed: string[] = [];
  for (const id of ids) {
    try {
      await storage.remove(id);
      removed.push(id);
    } catch (error) {
      log.warn(
        { error: describeError(error), file: id },
        'file not removed, the next sweep retries',
      );
    }
  }

  if (removed.length > 0) {
    const em = orm.em.fork();
    const these = sql`m.id = any(${removed}::uuid[]) and m.deleted_at is not null`;
    await query(em, sql`update media_files m set stored_at = null where ${these}`);
    await query(
      em,
      sql`delete from media_files m where ${these} and not exists (
          select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)`,
    );
  }

  return ids.length - removed.length;
}

/**
 * Removes the files of a request that are not in the library, after its transaction. The database decides, not what the
 * caller saw. While a COMMIT without a response is under way, the sweep handles the file.
 *
 * Never throws: the sweep finds undecided files.
 */
export async function removeUnclaimed(deps: Deps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  try {
    const abandoned = await abandonUnclaimed(deps.orm.em.fork(), sql`id = any(${ids}::uuid[])`);
    await removeBytes(
      deps,
      abandoned.map(({ id }) => id),
    );
  } catch (error) {
    deps.log.warn(
      { error: describeError(error), files: ids },
      'unclaimed files not removed, the next sweep retries',
    );
  }
}
