import { MediaFile } from '../../db/entities/media-file.ts';
import type { Em } from '../../db/orm.ts';
import { encodeCursor, readCursor } from '../http/cursor.ts';

export type MediaQuery = {
  readonly type?: 'image' | 'video';
  readonly search?: string;
  readonly limit: number;
  readonly cursor?: string;
};

/** The workspace's files, the newest first, and where to go on. */
export async function listMedia(
  em: Em,
  workspaceId: string,
  { type, search, limit, cursor }: MediaQuery,
): Promise<{ files: MediaFile[]; nextCursor: string | null }> {
  const after = readCursor(cursor);
  const rows = await em.find(
    MediaFile,
    {
      workspaceId,
      deletedAt: null,
      ...(type === undefined ? {} : { type: { $like: `${type}/%` } }),
      ...(search === undefined ? {} : { name: { $ilike: `%${literally(search)}%` } }),
      ...(after
        ? {
            $or: [
              { createdAt: { $lt: after.createdAt } },
              { createdAt: after.createdAt, id: { $lt: after.id } },
            ],
          }
        : {}),
    },
    { orderBy: { createdAt: 'desc', id: 'desc' }, limit: limit + 1 },
  );
  const files = rows.slice(0, limit);
  const last = files.at(-1);
  return { files, nextCursor: last && rows.length > limit ? encodeCursor(last) : null };
}

/** Names are kept in NFC, and `%`, `_` and the backslash mean something to LIKE. */
const literally = (search: string): string =>
  search.normalize('NFC').replaceAll(/[\\%_]/gv, String.raw`\$&`);
