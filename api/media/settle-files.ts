import { describeError } from '../../runtime/describe-error.ts';
import type { ApiDeps } from '../deps.ts';
import type { NewMedia, StoredMedia } from './new-media.ts';

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

/** Files that were stored for somebody who is about to make their rows. */
export const storedMedia = (deps: Deps, files: readonly NewMedia[]): StoredMedia => ({
  files,
  settle: () =>
    settleFiles(
      deps,
      files.map(({ storageKey }) => storageKey),
    ),
});

/**
 * Removes those of the noted files of which no row speaks, or only one that says they are deleted. Asking the
 * database, rather than trusting what the caller saw, is right also when a commit succeeded and its answer was lost.
 *
 * Never throws: the notes of what could not be settled stay, and the next sweep reads them.
 *
 * @param keys Of the storage; a file's key is its id.
 */
export async function settleFiles(
  { orm, log, media: { storage, staging } }: Deps,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) {
    return;
  }

  try {
    const rows = await orm.em
      .fork()
      .execute<{ id: string }[]>(
        'select id from media_files where id in (?) and deleted_at is null',
        [keys],
      );
    const kept = new Set(rows.map(({ id }) => id));
    for (const key of keys) {
      if (!kept.has(key)) {
        await storage.remove(key);
      }

      await staging.forget(key);
    }
  } catch (error) {
    log.warn({ error: describeError(error), files: keys }, 'files are settled later');
  }
}
