import { describeError } from '../../runtime/describe-error.ts';
import type { ApiDeps } from '../deps.ts';
import type { ComingFiles } from '../quotas/media-quota.ts';
import type { NewMedia, StoredMedia } from './new-media.ts';
import { giveUpUntaken, removeLost } from './unsettled-files.ts';

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

/** Files that were stored for somebody who is about to make their rows. */
export const storedMedia = (
  deps: Deps,
  files: readonly NewMedia[],
  coming: ComingFiles,
): StoredMedia => ({
  files,
  countedInLibrary: coming.release,
  settle: async () => {
    await settleFiles(
      deps,
      files.map(({ id }) => id),
    );
    coming.release();
  },
});

/**
 * Removes those of a request's files that no row leads to, after its transaction. Goes by what the database says and
 * not by what the caller saw; while that is open, because a COMMIT whose answer was lost is still under way, it is
 * left to the sweep.
 *
 * Never throws: what could not be settled stays noted.
 */
export async function settleFiles(deps: Deps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) {
    return;
  }

  try {
    await removeLost(deps, await giveUpUntaken(deps.orm.em.fork(), ids));
  } catch (error) {
    deps.log.warn({ error: describeError(error), files: ids }, 'files are settled later');
  }
}
