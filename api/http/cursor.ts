import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';
import { text } from '../../domain/json-schema.ts';
import { parseInstant } from '../../domain/due-time.ts';

/** The last row of a page: a list goes on after it. Lists are ordered by time and, where that is equal, by id. */
export type Cursor = { readonly createdAt: Date; readonly id: string };

/** The query parameter of a call that answers in pages. */
export const cursorQuery = {
  description: 'Where to go on: `next_cursor` of the page before. Opaque.',
  schema: text,
} as const;

export const encodeCursor = ({ createdAt, id }: Cursor): string =>
  Buffer.from(JSON.stringify([createdAt.toISOString(), id])).toString('base64url');

/**
 * @param given The value of `?cursor`; undefined at the beginning of a list.
 * @throws AppError `invalid_request` for anything that `encodeCursor` did not make.
 */
export function readCursor(given: unknown): Cursor | undefined {
  if (given === undefined) {
    return undefined;
  }

  const cursor = typeof given === 'string' ? decode(given) : null;
  // Written back and compared, because the decoder overlooks what does not belong there.
  if (cursor === null || encodeCursor(cursor) !== given) {
    const details = [{ path: '?cursor', message: 'is not a next_cursor of this list' }];
    throw new AppError('invalid_request', '?cursor is not a next_cursor of this list.', {
      details,
    });
  }

  return cursor;
}

function decode(given: string): Cursor | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(given, 'base64url').toString('utf8'));
    const [at, id]: unknown[] = Array.isArray(parts) ? parts : [];
    const createdAt = typeof at === 'string' ? parseInstant(at) : null;
    // Nothing of ours is older than 1970, and PostgreSQL knows no year 0.
    return createdAt && createdAt.getTime() >= 0 && typeof id === 'string' && isId(id)
      ? { createdAt, id }
      : null;
  } catch {
    return null;
  }
}
