import { sql } from 'kysely';
import { installationId } from './installation.ts';
import type { Orm } from './orm.ts';
import { db, query } from './query.ts';

type Storage = {
  /** Marks the storage with the database's id. */
  claim(installation: string): Promise<void>;
  isClaimed(installation: string): Promise<boolean>;
};

/** This process uses another media folder or bucket than the process that marked it. */
export class OtherStorageError extends Error {
  override readonly name = 'OtherStorageError';

  constructor() {
    super(
      'The media storage of this process is not the one of this database: it lacks the mark that the first API process left. The API and all workers must share one storage: set the same PUNCTUAL_MEDIA_DIR (a shared folder, where they run on several machines) or the same PUNCTUAL_S3_BUCKET and PUNCTUAL_S3_ENDPOINT for all of them. If the files were moved here on purpose, run "npm run admin -- storage adopt" with these settings.',
    );
  }
}

/**
 * Compares the mark in the storage with the database.
 *
 * @param mayClaim Whether to mark the storage if the database has no marked storage or no files.
 * @returns false while it is unknown whether the storage belongs to the database.
 * @throws OtherStorageError @throws AppError `unavailable` if the storage does not respond.
 */
async function checkStorage(orm: Orm, storage: Storage, mayClaim: boolean): Promise<boolean> {
  const em = orm.em.fork();
  const [row] = await query(em, db.selectFrom('installation').select(['id', 'storage_marked_at']));
  if (!row) {
    throw new Error('The table "installation" is empty.');
  }

  if (await storage.isClaimed(row.id)) {
    return true;
  }

  // Without files any storage is fine: an installation that posts only texts may run on an ephemeral disk.
  if (row.storage_marked_at !== null && (await hasFiles(orm))) {
    throw new OtherStorageError();
  }

  if (mayClaim) {
    await adoptStorage(orm, storage);
  }

  return mayClaim;
}

async function hasFiles(orm: Orm): Promise<boolean> {
  const files = db.selectFrom('media_files').select('id').where('deleted_at', 'is', null).limit(1);
  return (await query(orm.em.fork(), files)).length > 0;
}

/** Marks this storage as the database's. */
export async function adoptStorage(orm: Orm, storage: Storage): Promise<void> {
  await storage.claim(await installationId(orm));
  await query(orm.em.fork(), sql`update installation set storage_marked_at = now()`);
}

/** In milliseconds. */
const againMs = 10_000;

/**
 * Repeats the check until it succeeds: the storage may be unavailable, and before the first API process there is no
 * mark.
 *
 * @param on `isFatal` ends the process at an OtherStorageError, and rethrows other errors.
 */
export function keepStorageChecked(
  orm: Orm,
  storage: Storage,
  on: {
    readonly mayClaim: boolean;
    readonly log: { warn(facts: object, message: string): void };
    readonly isFatal: (error: unknown) => never;
  },
): void {
  const check = async (): Promise<void> => {
    try {
      if (await checkStorage(orm, storage, on.mayClaim).catch(on.isFatal)) {
        return;
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      on.log.warn({ error: { message } }, 'the media storage cannot be compared with the database');
    }

    setTimeout(() => void check(), againMs).unref();
  };
  void check();
}
