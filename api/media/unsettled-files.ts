import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { ApiDeps } from '../deps.ts';

// A file is stored before its row is made and removed after its row is deleted, and a crash or a lost answer may come
// in between. `unsettled_files` says which stored files belong to nobody at a moment: its rows come and go in the
// transactions that decide it. While such a transaction goes on it has the row locked, and nobody decides.

/** Says that a file is about to be stored. Committed before its bytes go anywhere, so that none are forgotten. */
export async function noteFile(em: Em, id: string): Promise<void> {
  await em.execute('insert into unsettled_files (id, noted_at, is_lost) values (?, now(), false)', [
    id,
  ]);
}

/**
 * Takes files for the caller's transaction, which makes their rows: if it commits they are settled, and otherwise as
 * before.
 *
 * @throws AppError `unavailable` for a request that took so long that the sweep gave its files up.
 */
export async function takeFiles(em: Em, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  const taken = await em.execute<{ id: string }[]>(
    'delete from unsettled_files where id in (?) and not is_lost returning id',
    [ids],
  );
  if (taken.length < ids.length) {
    throw new AppError('unavailable', 'The request took too long. Send it again.', {
      retryAfter: 1,
    });
  }
}

/** Gives a file up in the caller's transaction, which deletes its row. */
export async function giveUpFile(em: Em, id: string): Promise<void> {
  await em.execute(
    'insert into unsettled_files (id, noted_at, is_lost) values (?, now(), true) on conflict do nothing',
    [id],
  );
}

/**
 * Gives up those of a request's files that it did not take. Files of a transaction that goes on are passed over: a
 * COMMIT whose answer was lost may still succeed.
 *
 * @returns what is given up.
 */
export async function giveUpUntaken(em: Em, ids: readonly string[]): Promise<string[]> {
  const given = await em.execute<{ id: string }[]>(
    `update unsettled_files set is_lost = true
     where id in (select id from unsettled_files where id in (?) for update skip locked)
     returning id`,
    [ids],
  );
  return given.map(({ id }) => id);
}

/**
 * Gives up files that were noted more than an hour ago, the oldest first. A request that still goes on then cannot
 * take them any more, and fails. Each is handed out once an hour, over all processes.
 */
export async function giveUpStale(em: Em, limit: number): Promise<string[]> {
  const given = await em.execute<{ id: string }[]>(
    `update unsettled_files set is_lost = true, noted_at = now()
     where id in (
       select id from unsettled_files where noted_at < now() - interval '1 hour'
       order by noted_at limit ? for update skip locked
     )
     returning id`,
    [limit],
  );
  return given.map(({ id }) => id);
}

/**
 * Gives up those of some stored files that have no row in the library and are not noted. A file of a request that goes
 * on is always noted or in the library, also in the moment of its commit.
 */
export async function giveUpOwnerless(em: Em, ids: readonly string[]): Promise<string[]> {
  const given = await em.execute<{ id: string }[]>(
    `insert into unsettled_files (id, noted_at, is_lost)
     select s.id::uuid, now(), true from jsonb_array_elements_text(?::jsonb) s(id)
     where not exists (select from media_files m where m.id = s.id::uuid and m.deleted_at is null)
       and not exists (select from unsettled_files u where u.id = s.id::uuid)
     on conflict do nothing returning id`,
    [JSON.stringify(ids)],
  );
  return given.map(({ id }) => id);
}

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

/**
 * Removes the bytes of files that were given up. What cannot be removed is logged and passed over; it stays noted, and
 * a later sweep tries again.
 *
 * @returns how many could not be removed.
 */
export async function removeLost(
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
    const em = orm.em.fork();
    await em.execute('delete from unsettled_files where id in (?) and is_lost', [removed]);
  }

  return ids.length - removed.length;
}
