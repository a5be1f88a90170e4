import { open, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../domain/errors.ts';
import { BodyTooLargeError } from '../../runtime/egress/egress.ts';
import { EgressError } from '../../runtime/egress/egress-error.ts';
import { namedIfOutOfRoom } from '../../runtime/storage/out-of-room.ts';
import type { ApiDeps } from '../deps.ts';
import type { ComingFiles } from '../quotas/media-quota.ts';
import { nameInUrl } from './file-name.ts';
import { maxFileBytes, tooLarge } from './limits.ts';
import type { NewMedia } from './new-media.ts';
import { takeIn, type Sent } from './take-in.ts';

/** Over everything, however slowly it drips. */
const timeoutMs = 10 * 60_000;
const maxRedirects = 3;

/** Some servers refuse whoever does not say who they are. */
const headers = { 'user-agent': 'Punctual/1.0', accept: 'image/*, video/*' };

type Request = Pick<Sent, 'workspaceId'> & {
  readonly signal: AbortSignal;
  readonly coming: Pick<ComingFiles, 'through'>;
};

/**
 * Downloads one file and stores it.
 *
 * @throws AppError `invalid_media_url` with the reason alone as its message, `quota_exceeded`, `unavailable` when there is no room.
 */
export async function fetchFile(
  deps: Pick<ApiDeps, 'orm' | 'media'>,
  url: string,
  { workspaceId, signal, coming }: Request,
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
    await pipeline(found.body, coming.through, file.createWriteStream());
    return await takeIn(deps, filePath, { name: nameInUrl(url), workspaceId, signal });
  } catch (error) {
    throw namedIfOutOfRoom(asReason(error, stallMs));
  } finally {
    await rm(filePath, { force: true });
  }
}

/** What is the fault of the URL, as such; anything else as it is. */
function asReason(error: unknown, stallMs: number): unknown {
  if (error instanceof AppError && error.code === 'invalid_media') {
    return new AppError('invalid_media_url', error.message);
  }

  if (error instanceof BodyTooLargeError) {
    return new AppError('invalid_media_url', tooLarge, { cause: error });
  }

  return error instanceof EgressError
    ? new AppError('invalid_media_url', sentence(error, stallMs), { cause: error })
    : error;
}

function sentence({ code, message }: EgressError, stallMs: number): string {
  if (code === 'timeout') {
    return `The server was silent for ${stallMs / 1000} s, or took more than 10 minutes.`;
  }

  return code === 'connection_reset' ? 'The connection broke before all of it had come.' : message;
}
