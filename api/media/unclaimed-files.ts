import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { db, query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ApiDeps } from '../deps.ts';

// A file is stored before its row is made and removed after its row is deleted, and a crash or a lost answer may come
// in between. `unsettled_files` says which stored files no row claims at a moment: its rows come and go in the
// transactions that decide it. While such a transaction goes on it has the row locked, and no other decides.

/** Says that a file is about to be stored. Committed before its bytes go anywhere, so that none are forgotten. */
export async function registerFile(em: Em, id: string): Promise<void> {
  await query(
    em,
    sql`insert into unsettled_files (id, noted_at, is_lost) values (${id}, now(), false)`,
  );
}

/**
 * Claims files for the caller's transaction, which makes their rows: if it does not commit they are unclaimed as before.
 *
 * @throws AppError `unavailable` for a request that took so long that the sweep abandoned its files.
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
 * Abandons those of a request's files that it did not claim. Files of a transaction that goes on are passed over: a
 * COMMIT whose answer was lost may still succeed.
 *
 * @returns what is abandoned.
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
 * Abandons files that were registered more than an hour ago, the oldest first. A request that still goes on then cannot
 * claim them any more, and fails. Each is handed out once an hour, over all processes.
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

/**
 * Abandons those of some stored files that have no row in the library and are not registered. A file of a request that
 * goes on is always registered or in the library, also in the moment of its commit.
 */
export async function abandonUnknown(em: Em, ids: readonly string[]): Promise<string[]> {
  const abandoned = await query<{ id: string }>(
    em,
    sql`insert into unsettled_files (id, noted_at, is_lost)
     select s.id, now(), true from unnest(${ids}::uuid[]) s(id)
     where not exists (select from media_files m where m.id = s.id and m.deleted_at is null)
       and not exists (select from unsettled_files u where u.id = s.id)
     on conflict do nothing returning id`,
  );
  return abandoned.map(({ id }) => id);
}

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

/**
 * Removes the bytes of abandoned files. What cannot be removed is logged and passed over; it stays registered, and a
 * later sweep tries again.
 *
 * @returns how many could not be removed.
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
      log.warn({ error: describeError(error), file: id }, 'a file is removed later');
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
 * Removes those of a request's files that no row leads to, after its transaction. Goes by what the database says and
 * not by what the caller saw; while that is open, because a COMMIT whose answer was lost is still under way, it is
 * left to the sweep.
 *
 * Never throws: what could not be decided stays registered.
 */
export async function removeUnclaimed(deps: Deps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  try {
    await removeAbandoned(deps, await abandonUnclaimed(deps.orm.em.fork(), ids));
  } catch (error) {
    deps.log.warn({ error: describeError(error), files: ids }, 'unclaimed files are removed later');
  }
}
