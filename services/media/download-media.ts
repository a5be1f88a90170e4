import { open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { MediaFile } from '../../db/entities/media.ts';
import { AppError } from '../../domain/errors.ts';
import { createKeyedSemaphore, forEachLimit } from '../../runtime/concurrency.ts';
import { BodyTooLargeError, EgressError, type Download } from '../../runtime/egress/egress.ts';
import { asUnavailable } from '../../runtime/storage/disk-storage.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { createOnce, type RequestKey } from '../idempotency.ts';
import { assertFilesMayCome, whileDiskHasSpace } from '../quotas/media-quota.ts';
import { outsideTurn } from '../turns.ts';
import { assertFileTexts, fileName, nameInUrl } from './file-texts.ts';
import {
  insertMedia,
  maxFileBytes,
  noMedia,
  storeFile,
  storedMedia,
  type NewMedia,
  type Sent,
  type StoredMedia,
} from './store-files.ts';

const atATime = 4;

/** Concurrent downloads of a workspace, and recently failed ones: a hostile server makes them cost processor time. */
const enter = createKeyedSemaphore(16);
const failedForMs = 2000;

type Deps = Pick<ServiceDeps, 'orm' | 'log' | 'media'>;

export type GivenUrl = {
  readonly url: string;
  readonly path: string;
};

/**
 * Downloads files into the library's storage: all of them or none. The caller puts them into the library by
 * `insertMedia`, and always calls `removeUnclaimed` at the end.
 *
 * @returns the files in the order of the URLs, without repetitions.
 * @throws AppError `invalid_media_url`, which names the URL and the reason; `quota_exceeded`; `unavailable`.
 */
export async function downloadMedia(
  deps: Deps,
  owner: QuotaOwner,
  urls: readonly GivenUrl[],
  signal?: AbortSignal,
): Promise<StoredMedia> {
  if (urls.length === 0) {
    return noMedia;
  }

  return outsideTurn(() => download(deps, owner, urls, signal));
}

async function download(
  deps: Deps,
  owner: QuotaOwner,
  urls: readonly GivenUrl[],
  signal?: AbortSignal,
): Promise<StoredMedia> {
  assertAllowed(deps, urls);
  const wanted = [...new Set(urls.map(({ url }) => url))];
  const coming = { files: wanted.length, bytes: wanted.length };
  await assertFilesMayCome(deps.orm.em.fork(), deps.media, owner, coming);
  const files: NewMedia[] = [];
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const sent = { workspaceId: owner.workspaceId, signal: either };
  await forEachLimit([...wanted.entries()], atATime, async ([index, url]) => {
    let leave = (): void => undefined;
    try {
      leave = await enter(owner.workspaceId, either);
      files[index] = await fetchFile(deps, url, sent);
      leave();
    } catch (error) {
      setTimeout(leave, failedForMs);
      stop.abort(named(error, urls, url)); // Only the first error counts: the others fail because of the abort.
    }
  });
  if (stop.signal.aborted) {
    const stored = files.filter((file) => file !== undefined);
    await storedMedia(deps, stored).removeUnclaimed();
    throw stop.signal.reason;
  }

  return storedMedia(deps, files);
}

/** Refuses every URL that is wrong by its text alone, before any request. */
function assertAllowed({ media }: Deps, urls: readonly GivenUrl[]): void {
  const wrong = urls.flatMap(({ url, path }) => {
    const reason = media.refuseUrl(url);
    return reason === null ? [] : [{ url, detail: { path, message: reason } }];
  });
  if (wrong.length > 0) {
    const sentences = wrong.map(({ url, detail }) => `${url}: ${detail.message}`);
    throw new AppError('invalid_media_url', sentences.join(' '), {
      details: wrong.map(({ detail }) => detail),
    });
  }
}

/** Adds the URL and its first position in the request to an error. */
function named(error: unknown, urls: readonly GivenUrl[], url: string): unknown {
  const { path = '' } = urls.find((given) => given.url === url) ?? {};
  return error instanceof AppError && error.code === 'invalid_media_url'
    ? new AppError('invalid_media_url', `${url}: ${error.message}`, {
        details: [{ path, message: error.message }],
        cause: error,
      })
    : error;
}

/** Limit of one download, in milliseconds. */
const timeoutMs = 10 * 60_000;
const maxRedirects = 3;

/**
 * Some servers refuse requests without a user agent, and some answer 406 when they call a picture
 * `application/octet-stream` and the request does not accept that.
 */
const headers = { 'user-agent': 'Punctual/1.0', accept: 'image/*, video/*, */*;q=0.1' };

type Request = Pick<Sent, 'workspaceId'> & { readonly signal: AbortSignal };

/** @throws AppError `invalid_media_url` with only the reason as its message; `unavailable` when the disk is full. */
async function fetchFile(
  deps: Pick<ServiceDeps, 'orm' | 'media'>,
  url: string,
  { workspaceId, signal }: Request,
): Promise<NewMedia> {
  const { downloader, staging, stallMs } = deps.media;
  const filePath = staging.newPath();
  try {
    const found = await downloader.download({
      url,
      headers,
      maxBytes: maxFileBytes,
      stallMs,
      timeoutMs,
      maxRedirects,
      signal,
    });
    if (found.status !== 200) {
      found.body.destroy();
      throw new AppError('invalid_media_url', `The server answered ${found.status}.`);
    }

    const file = await open(filePath, 'wx', 0o600).catch((error: unknown) => {
      found.body.destroy();
      throw error;
    });
    await pipeline(
      found.body,
      (bytes: AsyncIterable<Buffer>) => whileDiskHasSpace(deps.media, bytes),
      file.createWriteStream(),
    );
    return await storeFile(deps, filePath, {
      name: nameInUrl(url),
      altText: null,
      workspaceId,
      signal,
    }).catch((error: unknown) => {
      throw namedIfCompressed(error, found);
    });
  } catch (error) {
    throw asUnavailable(asReason(error, stallMs));
  } finally {
    await rm(filePath, { force: true }).catch(() => {}); // The sweep removes what is left.
  }
}

/** Some servers compress every response. A readable file is accepted, whatever the header says. */
function namedIfCompressed(error: unknown, { headers: answered }: Download): unknown {
  const encoding = answered['content-encoding']?.trim() ?? '';
  return error instanceof AppError &&
    error.code === 'invalid_media' &&
    /^(?:x-)?(?:gzip|compress|deflate|br|zstd)$/iv.test(encoding)
    ? new AppError(
        'invalid_media_url',
        `The server sent the file compressed (Content-Encoding: ${encoding}), although the request asked for no compression. Serve it uncompressed, or upload the file.`,
        { cause: error },
      )
    : error;
}

/** Converts errors that the URL caused; returns any other error unchanged. */
function asReason(error: unknown, stallMs: number): unknown {
  if (error instanceof AppError && error.code === 'invalid_media') {
    return new AppError('invalid_media_url', error.message);
  }

  if (error instanceof BodyTooLargeError) {
    return new AppError('invalid_media_url', 'The file is larger than 200 MB.', { cause: error });
  }

  return error instanceof EgressError
    ? new AppError('invalid_media_url', sentence(error, stallMs), { cause: error })
    : error;
}

function sentence({ code, message }: EgressError, stallMs: number): string {
  if (code === 'timeout') {
    return `The server did not connect in 5 s, was silent for ${stallMs / 1000} s, or took more than 10 minutes.`;
  }

  return code === 'connection_reset'
    ? 'The connection broke before the download was complete.'
    : message;
}

type ImportRequest<T> = {
  readonly url: string;
  /** Replaces the name in the URL. */
  readonly name: string | undefined;
  readonly altText: string | null;
  /** Returns JSON, which a repeated request gets again. */
  readonly present: (file: MediaFile) => T;
  readonly clientSignal: AbortSignal;
  readonly key: RequestKey | undefined;
};

/** Downloads one file into the media library. A repeated request downloads nothing. */
export async function importMedia<T extends object>(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'media' | 'sealer'>,
  owner: QuotaOwner,
  { url, name, altText, present, clientSignal, key }: ImportRequest<T>,
): Promise<T & { readonly replayed: boolean }> {
  assertFileTexts(altText, name);
  return createOnce<T>(deps, owner.workspaceId, key, async (transact) => {
    const stored = await downloadMedia(deps, owner, [{ url, path: '/url' }], clientSignal);
    try {
      return await transact(async (em) => {
        const files = stored.files.map((one) => ({ ...one, altText })); // The alt text counts in the quota.
        const [file] = await insertMedia(em, owner, { files }, deps.now());
        if (!file) {
          throw new Error('insertMedia returned no row for the file.');
        }

        file.altText = altText;
        file.name = name ? fileName(name, file.type) : file.name;
        return present(file);
      });
    } finally {
      await stored.removeUnclaimed();
    }
  });
}
