import { wrongValue } from '../domain/errors.ts';
import { isId, text } from '../domain/json-schema.ts';
import { parseInstant } from '../domain/due-time.ts';

/** The last row of a page. Lists are ordered by time, then by id. */
export type Cursor = { readonly createdAt: Date; readonly id: string };

export const cursorQuery = {
  description: 'The `next_cursor` of the previous page. Opaque.',
  schema: text,
} as const;

/** The query parameters of a list. @param items What it lists. @param most The default and maximum of a page. */
export const pageQuery = (items: string, most: number) =>
  ({
    limit: {
      description: `The maximum number of ${items}.`,
      schema: { type: 'integer', minimum: 1, maximum: most, default: most },
    },
    cursor: cursorQuery,
  }) as const;

/** @param list Names the list that the cursor belongs to, if its rows or their order can be chosen. */
const encodeCursor = ({ createdAt, id }: Cursor, list = ''): string => {
  const parts = [createdAt.toISOString(), id, ...(list === '' ? [] : [list])];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
};

/** Cuts a page from rows of which one more was read. @param list As `encodeCursor` gets it. */
export function cutPage<T>(
  rows: readonly T[],
  limit: number,
  placeOf: (row: T) => Cursor,
  list = '',
): { readonly page: readonly T[]; readonly nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { page, nextCursor: last === undefined ? null : encodeCursor(placeOf(last), list) };
}

/** @param given The value of `?cursor`; undefined for the first page. @param list As `encodeCursor` got it. */
export function readCursor(given: unknown, list = ''): Cursor | undefined {
  if (given === undefined) {
    return undefined;
  }

  const cursor = typeof given === 'string' ? decode(given) : null;
  // Encoded again and compared, because the decoder ignores invalid characters.
  if (cursor === null || encodeCursor(cursor, cursor.list) !== given) {
    throw wrongValue('?cursor', 'is not a next_cursor of this list');
  }

  if (cursor.list !== list) {
    throw wrongValue(
      '?cursor',
      'is of a list with other filters or another order: repeat those of its page',
    );
  }

  return cursor;
}

function decode(given: string): (Cursor & { readonly list: string }) | null {
  try {
    const parts: unknown = JSON.parse(Buffer.from(given, 'base64url').toString('utf8'));
    const [at, id, list = '']: unknown[] = Array.isArray(parts) ? parts : [];
    const createdAt = typeof at === 'string' ? parseInstant(at) : null;
    // No row is older than 1970, and PostgreSQL has no year 0.
    return createdAt &&
      createdAt.getTime() >= 0 &&
      typeof id === 'string' &&
      isId(id) &&
      typeof list === 'string'
      ? { createdAt, id, list }
      : null;
  } catch {
    return null;
  }
}
