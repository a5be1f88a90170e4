import { statfs } from 'node:fs/promises';
import { AppError } from '../../domain/errors.ts';

/** In seconds. An operator has to free space. */
const retryAfter = 60;

/**
 * Refuses uploads while the disk is nearly full. A full disk would also stop PostgreSQL, which often has its data
 * there, and with it the posts that are due.
 *
 * @param folder The folder of the media library.
 * @param leastFree The percentage of its file system that must be free; 0 disables the check.
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
        'The disk is nearly full, so files cannot be stored now. Posts without new files are not affected. Try again later.',
        { retryAfter },
      );
    }
  };
}

/** No space left, quota used up, file too large for the file system. */
const codes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Converts an error for lack of space to `unavailable`; returns other errors unchanged. */
export function namedIfOutOfRoom(error: unknown): unknown {
  return error instanceof Error && 'code' in error && codes.has(error.code)
    ? new AppError('unavailable', 'There is no room for this file now. Try again later.', {
        retryAfter,
        cause: error,
      })
    : error;
}
