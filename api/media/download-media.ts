import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import type { ApiDeps } from '../deps.ts';
import { expectFiles } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import { fetchFile } from './fetch-file.ts';
import type { NewMedia, StoredMedia } from './new-media.ts';
import { storedMedia } from './settle-files.ts';

const atATime = 4;

type Deps = Pick<ApiDeps, 'orm' | 'log' | 'media'>;

/**
 * Downloads files into the media library's storage: all of them, or none. At most 4 at a time; a URL that is given
 * twice is one file, and the first failure ends the others. Their rows are the caller's to make, by `insertMedia`:
 *
 *     const stored = await downloadMedia(deps, owner, urls, signal);
 *     try {
 *       await transactional(async (em) => { await insertMedia(em, owner, stored, now); … });
 *     } finally {
 *       await stored.settle();
 *     }
 *
 * @param signal Aborts when nobody waits for the answer any more.
 * @returns the files in the order of the URLs.
 * @throws AppError `invalid_media_url`, which names the URL and why; `quota_exceeded` when the workspace has no room for
 *   them, `unavailable` when the disk has none.
 */
export async function downloadMedia(
  deps: Deps,
  owner: QuotaOwner,
  urls: readonly string[],
  signal?: AbortSignal,
): Promise<StoredMedia> {
  mustLookGood(deps, urls);
  const wanted = [...new Set(urls)];
  const coming = await expectFiles(deps.orm.em.fork(), deps.media, owner, wanted.length);
  const files: NewMedia[] = [];
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const queue = wanted.entries();
  const work = async (): Promise<void> => {
    for (const [index, url] of queue) {
      try {
        files[index] = await fetchFile(deps, url, {
          workspaceId: owner.workspaceId,
          signal: either,
          coming,
        });
      } catch (error) {
        // The first one counts: what follows fails because it was stopped.
        stop.abort(named(error, urls, url));
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  if (stop.signal.aborted) {
    const stored = files.filter((file) => file !== undefined);
    await storedMedia(deps, stored, coming).settle();
    throw stop.signal.reason;
  }

  return storedMedia(deps, files, coming);
}

/** Names every URL that is wrong by its text alone, before anything is asked for. */
function mustLookGood({ media }: Deps, urls: readonly string[]): void {
  const wrong = urls.flatMap((url, index) => {
    const reason = media.refuseUrl(url);
    return reason === null ? [] : [{ url, detail: detailOf(index, reason) }];
  });
  if (wrong.length > 0) {
    const sentences = wrong.map(({ url, detail }) => `${url}: ${detail.message}`);
    throw new AppError('invalid_media_url', sentences.join(' '), {
      details: wrong.map(({ detail }) => detail),
    });
  }
}

/** A failure of one URL, with the URL's name and its first place in the request. */
function named(error: unknown, urls: readonly string[], url: string): unknown {
  return error instanceof AppError && error.code === 'invalid_media_url'
    ? new AppError('invalid_media_url', `${url}: ${error.message}`, {
        details: [detailOf(urls.indexOf(url), error.message)],
        cause: error,
      })
    : error;
}

const detailOf = (index: number, message: string): ErrorDetail => ({
  path: `/media_urls/${index}`,
  message,
});
