import { AppError } from '../domain/errors.ts';
import { isId, text } from '../domain/json-schema.ts';
import { parseInstant } from '../domain/due-time.ts';

/** The last row of a page. Lists are ordered by time, then by id. */
export type Cursor = { readonly createdAt: Date; readonly id: string };

/** The query parameter of paginated calls. */
export const cursorQuery = {
  description: 'The `next_cursor` of the previous page. Opaque.',
  schema: text,
} as const;

export const encodeCursor = ({ createdAt, id }: Cursor): string =>
  Buffer.from(JSON.stringify([createdAt.toISOString(), id])).toString('base64url');

/**
 * @param given The value of `?cursor`; undefined for the first page.
 * @throws AppError `invalid_request` for any value that `encodeCursor` did not create.
 */
export function readCursor(given: unknown): Cursor | undefined {
  if (given === undefined) {
    return undefined;
  }

  const cursor = typeof given === 'string' ? decode(given) : null;
  // Encoded again and compared, because the decoder ignores invalid characters.
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
    // No row is older than 1970, and PostgreSQL has no year 0.
    return createdAt && createdAt.getTime() >= 0 && typeof id === 'string' && isId(id)
      ? { createdAt, id }
      : null;
  } catch {
    return null;
  }
}
