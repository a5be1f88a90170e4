import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { db, query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ServiceDeps } from '../deps.ts';

// A file is stored before its row is inserted, and removed after its row is deleted; a crash or a lost response may
// come in between. `unsettled_files` lists the stored files without a row. Its rows change in the transactions that
// decide the file's fate, which keep them locked until they end.

/** Registers a file before it is stored. Commits first, so that no stored bytes are forgotten. */
export async function registerFile(em: Em, id: string): Promise<void> {
  await query(
    em,
    sql`insert into unsettled_files (id, noted_at, is_lost) values (${id}, now(), false)`,
  );
}

/**
 * Claims files in the caller's transaction, which inserts their rows.
 *
 * @throws AppError `unavailable` when the request took so long that the sweep abandoned its files.
 */
export async function claimFiles(em: Em, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  const claimed = await query(
    em,
    sql`delete from unsettled_files where id = any(${ids}::uuid[]) and not is_lost returning id`,
  );
  if (claimed.length < ids.length) {
    throw new AppError('unavailable', 'The request took too long. Send it again.', {
      retryAfter: 1,
    });
  }
}

/** Abandons a file in the caller's transaction, which deletes its row. */
export async function abandonFile(em: Em, id: string): Promise<void> {
  await query(
    em,
    sql`insert into unsettled_files (id, noted_at, is_lost) values (${id}, now(), true) on conflict do nothing`,
  );
}

/**
 * Abandons the unclaimed files of a request. Skips files that a running transaction has locked: a COMMIT without a
 * response may still succeed.
 *
 * @returns the ids of the abandoned files.
 */
async function abandonUnclaimed(em: Em, ids: readonly string[]): Promise<string[]> {
  const abandoned = await query<{ id: string }>(
    em,
    sql`update unsettled_files set is_lost = true
     where id in (select id from unsettled_files where id = any(${ids}::uuid[]) for update skip locked)
     returning id`,
  );
  return abandoned.map(({ id }) => id);
}

/**
 * Abandons files that were registered more than an hour ago, oldest first. A request that still runs then cannot claim
 * them and fails. Each file is returned once an hour, over all processes.
 */
export async function abandonStale(em: Em, limit: number): Promise<string[]> {
  const abandoned = await query<{ id: string }>(
    em,
    sql`update unsettled_files set is_lost = true, noted_at = now()
     where id in (
       select id from unsettled_files where noted_at < now() - interval '1 hour'
       order by noted_at limit ${limit} for update skip locked
     )
     returning id`,
  );
  return abandoned.map(({ id }) => id);
}

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

/**
 * Removes the bytes of abandoned files. A failed removal is logged; the file stays registered for a later sweep.
 *
 * @returns how many removals failed.
 */
export async function removeAbandoned(
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
    await query(
      orm.em.fork(),
      db
        .deleteFrom('unsettled_files')
        .where(sql<boolean>`id = any(${removed}::uuid[]) and is_lost`),
    );
  }

  return ids.length - removed.length;
}

/**
 * Removes the files of a request that have no row, after its transaction. The database decides, not what the caller
 * saw. While a COMMIT without a response is under way, the sweep handles the file.
 *
 * Never throws: undecided files stay registered.
 */
export async function removeUnclaimed(deps: Deps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  try {
    await removeAbandoned(deps, await abandonUnclaimed(deps.orm.em.fork(), ids));
  } catch (error) {
    deps.log.warn(
      { error: describeError(error), files: ids },
      'unclaimed files not removed, the next sweep retries',
    );
  }
}
