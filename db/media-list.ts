import type { EntityDictionary } from '@mikro-orm/core';
import { sql } from 'kysely';
import { MediaFile } from './entities/media.ts';
import type { Em } from './orm.ts';
import { queryPlanned } from './query.ts';

type MediaSearch = {
  readonly type: 'image' | 'video' | undefined;
  /** Any part of the name, in any case. */
  readonly search: string | undefined;
  /** The last file of the page before. */
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
};

/** Lists the files of a workspace's library, newest first. */
export async function selectMedia(
  em: Em,
  workspaceId: string,
  { type, search, after, limit }: MediaSearch,
): Promise<MediaFile[]> {
  const none = sql``;
  const rows = await queryPlanned<EntityDictionary<MediaFile>>(
    em,
    sql`select * from media_files where workspace_id = ${workspaceId} and deleted_at is null and stored_at is not null
     ${type === undefined ? none : sql`and type like ${`${type}/%`}`}
     ${search === undefined ? none : sql`and name ilike ${`%${literally(search)}%`}`}
     ${after ? sql`and (created_at, id) < (${after.createdAt}, ${after.id})` : none}
     order by created_at desc, id desc limit ${limit}`,
  );
  return rows.map((row) => em.map(MediaFile, row));
}

/** Names are stored in NFC. Escapes the special characters of LIKE. */
const literally = (search: string): string =>
  search.normalize('NFC').replaceAll(/[\\%_]/gv, String.raw`\$&`);
