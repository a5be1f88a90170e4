import { statfs } from 'node:fs/promises';
import { AppError } from '../../domain/errors.ts';

/** In seconds. Room is made by people. */
const retryAfter = 60;

/**
 * A guard that files must pass before they are taken in. Uploads that fill a disk to its end would take PostgreSQL,
 * which often has its data on the same one, and the posts that are due down with them.
 *
 * @param folder Of the media library.
 * @param leastFree How much of its file system must be free, in percent; 0 lets everything through.
 * @returns a function that throws AppError `unavailable` when less is free.
 */
export function diskGuard(folder: string, leastFree: number): () => Promise<void> {
  return async () => {
    if (leastFree === 0) {
      return;
    }

    const { bavail, blocks } = await statfs(folder);
    if (blocks > 0 && (bavail / blocks) * 100 < leastFree) {
      throw new AppError(
        'unavailable',
        'The disk is nearly full, so no files are taken at the moment. Posts without new files are, and go out. Try again later.',
        { retryAfter },
      );
    }
  };
}

/** No space left, a quota that is used up, and a limit on the size of files. */
const codes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** A failure for want of room by its name, for the caller to hear; any other as it is. */
export function namedIfOutOfRoom(error: unknown): unknown {
  return error instanceof Error && 'code' in error && codes.has(error.code)
    ? new AppError(
        'unavailable',
        'There is no room for this file at the moment. Try again later.',
        {
          retryAfter,
          cause: error,
        },
      )
    : error;
}
