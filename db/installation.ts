import { sql } from 'kysely';
import { causesOf } from '../domain/errors.ts';
import { WrongStorageError, type MediaStorage } from '../runtime/storage/media-storage.ts';
import type { Orm } from './orm.ts';
import { query } from './query.ts';

/** The database's id, created with its schema. */
export async function installationId(orm: Orm): Promise<string> {
  const [row] = await query(orm.em.fork(), sql<{ id: string }>`select id from installation`);
  if (!row) {
    throw new Error('The table "installation" is empty.');
  }

  return row.id;
}

/** The secrets of the database are sealed under another SECRET_KEY than this process has. */
export class OtherSecretKeyError extends Error {
  override readonly name = 'OtherSecretKeyError';

  constructor(wanted: string, own: string) {
    super(
      `SECRET_KEY (${own}) is not the key that sealed the secrets of this database (${wanted}). Start with that key. If it is lost, run "npm run admin -- secret-key adopt" to use this one: then each account has to be connected again and each webhook endpoint registered again.`,
    );
  }
}

/**
 * Checks the key before a process seals or opens anything. Otherwise a wrong key would show only in channels that
 * cannot publish, and in secrets that the right key cannot open.
 *
 * @throws OtherSecretKeyError
 */
export async function assertSealedBy(orm: Orm, keyId: string): Promise<void> {
  // The first process stores its key's id.
  await query(
    orm.em.fork(),
    sql`update installation set sealed_by = ${keyId} where sealed_by is null`,
  );
  const [row] = await query(
    orm.em.fork(),
    sql<{ sealed_by: string | null }>`select sealed_by from installation`,
  );
  if (row?.sealed_by !== keyId) {
    throw new OtherSecretKeyError(row?.sealed_by ?? 'none', keyId);
  }
}

/** Makes this key the database's. @returns whether another was in use, under which secrets cannot be opened now. */
export async function adoptKey(orm: Orm, keyId: string): Promise<boolean> {
  const adopted = await query(
    orm.em.fork(),
    sql<{ had_key: boolean }>`update installation i set sealed_by = ${keyId} from installation was
      where was.id = i.id and was.sealed_by is distinct from ${keyId} returning was.sealed_by is not null as had_key`,
  );
  return adopted[0]?.had_key ?? false;
}

type Storage = Pick<MediaStorage, 'claim' | 'isClaimed' | 'open'>;

/**
 * Compares the storage with the database, once at the start of a process: its mark and the newest file. A storage that
 * does not respond then is logged.
 *
 * @param on `mayClaim`: mark the storage if the database has no marked storage or no files. `isFatal` rethrows all
 *   errors but those after which the process must end.
 */
export async function checkStorage(
  orm: Orm,
  storage: Storage,
  on: {
    readonly mayClaim: boolean;
    readonly log: Record<'warn' | 'error', (facts: object, message: string) => void>;
    readonly isFatal: (error: unknown) => never;
  },
): Promise<void> {
  await compareStorage(orm, storage, on.mayClaim)
    .then(() => missingFile(orm, storage))
    .then((missing) => missing !== null && on.log.error({}, missing))
    .catch(on.isFatal)
    .catch((error: unknown) => {
      const message = causesOf(error)
        .map((cause) => cause.message)
        .join(' ');
      on.log.warn({ error: { message } }, 'the media storage cannot be compared with the database');
    });
}

async function compareStorage(orm: Orm, storage: Storage, mayClaim: boolean): Promise<void> {
  if (await storage.isClaimed(await installationId(orm))) {
    return;
  }

  // Without files any storage is fine: an installation that posts only texts may run on an ephemeral disk.
  const misplaced = await query(
    orm.em.fork(),
    sql`select from installation where storage_marked_at is not null and exists (
      select from media_files where deleted_at is null and stored_at is not null)`,
  );
  if (misplaced.length > 0) {
    throw new WrongStorageError(
      'The media storage of this process is not the one of this database: it lacks the mark that the first API process left. The API and all workers must share one storage: set the same PUNCTUAL_MEDIA_DIR (a shared folder, where they run on several machines) or the same PUNCTUAL_S3_BUCKET and PUNCTUAL_S3_ENDPOINT for all of them. If the files were moved here on purpose, run "npm run admin -- storage adopt" with these settings, or "npm start -- --adopt-storage" once.',
    );
  }

  if (mayClaim) {
    await adoptStorage(orm, storage);
  }
}

/** @returns a sentence if this storage lacks the newest file, as after a copy that kept the paths of a folder. */
export async function missingFile(orm: Orm, storage: Storage): Promise<string | null> {
  const newest = sql<{ key: string }>`select storage_key as key from media_files
    where deleted_at is null and stored_at is not null order by id desc limit 1`;
  const [{ key } = { key: null }] = await query(orm.em.fork(), newest);
  const bytes = key === null ? null : await storage.open(key, { start: 0, end: 0 });
  bytes?.destroy();
  return key === null || bytes
    ? null
    : `The newest file of the media library is not in this storage. Copy the files: a bucket (PUNCTUAL_S3_BUCKET) has this one as media/${key}, a folder (PUNCTUAL_MEDIA_DIR) as files/${key.slice(-2)}/${key} (docs/operate/backups.md).`;
}

/** Marks this storage as the database's. */
export async function adoptStorage(orm: Orm, storage: Storage): Promise<void> {
  await storage.claim(await installationId(orm));
  await query(orm.em.fork(), sql`update installation set storage_marked_at = now()`);
}
