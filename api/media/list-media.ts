import type { EntityDictionary } from '@mikro-orm/core';
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
  const rows = await em.execute<EntityDictionary<MediaFile>[]>(
    `select * from media_files where workspace_id = ? and deleted_at is null
     ${type === undefined ? '' : 'and type like ?'} ${search === undefined ? '' : 'and name ilike ?'}
     ${after ? 'and (created_at, id) < (?, ?)' : ''}
     order by created_at desc, id desc limit ?`,
    [
      workspaceId,
      ...(type === undefined ? [] : [`${type}/%`]),
      ...(search === undefined ? [] : [`%${literally(search)}%`]),
      ...(after ? [after.createdAt, after.id] : []),
      limit + 1,
    ],
  );
  const files = rows.slice(0, limit).map((row) => em.map(MediaFile, row));
  const last = files.at(-1);
  return { files, nextCursor: last && rows.length > limit ? encodeCursor(last) : null };
}

/** Names are kept in NFC, and `%`, `_` and the backslash mean something to LIKE. */
const literally = (search: string): string =>
  search.normalize('NFC').replaceAll(/[\\%_]/gv, String.raw`\$&`);
