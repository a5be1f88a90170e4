import { abandonUnclaimed, forgetFiles } from '../../db/repositories/media.ts';
import { describeError } from '../../runtime/logger.ts';
import type { ServiceDeps } from '../deps.ts';

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
    await forgetFiles(orm.em.fork(), removed);
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
    await removeBytes(deps, await abandonUnclaimed(deps.orm.em.fork(), ids));
  } catch (error) {
    deps.log.warn(
      { error: describeError(error), files: ids },
      'unclaimed files not removed, the next sweep retries',
    );
  }
}
