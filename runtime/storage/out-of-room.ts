import { AppError } from '../../domain/errors.ts';

/** No space left, a quota that is used up, and a limit on the size of files. */
const codes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** In seconds. Room is made by people. */
const retryAfter = 60;

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
