import { LockMode, raw, type EntityDictionary } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import { MediaFile } from '../entities/media.ts';
import { PostMedia, type Post } from '../entities/posts.ts';
import type { Em } from '../orm.ts';
import { query, queryPlanned } from '../query.ts';

/** The condition of files that are neither deleted nor still being stored. */
const inLibrary = { deletedAt: null, storedAt: { $ne: null } } as const;

export const findMedia = (
  em: Em,
  workspaceId: string,
  id: string,
  lockMode = LockMode.NONE,
): Promise<MediaFile | null> =>
  em.findOne(MediaFile, { id, workspaceId, ...inLibrary }, { lockMode });

/** Finds a file by the token of its link, in any workspace. */
export const findMediaByLink = async (em: Em, linkToken: string): Promise<MediaFile | null> =>
  /^[0-9A-Za-z]{32}$/v.test(linkToken) ? em.findOne(MediaFile, { linkToken, ...inLibrary }) : null;

/**
 * Locks a file for a change until the transaction ends. A call that attaches it to a post locks its row too: it commits
 * first and this caller sees its post, or it finds the file changed.
 */
export const lockMedia = (em: Em, workspaceId: string, id: string): Promise<MediaFile | null> =>
  findMedia(em, workspaceId, id, LockMode.PESSIMISTIC_WRITE);

/**
 * Finds files of the library, and locks them against changes until the transaction ends: a post never loses one between
 * a check and the commit. Without a transaction, as for a validation, it only reads.
 */
export const keepMedia = (
  em: Em,
  workspaceId: string,
  ids: readonly string[],
): Promise<MediaFile[]> =>
  em.find(
    MediaFile,
    { id: { $in: ids }, workspaceId, ...inLibrary },
    {
      orderBy: { id: 'asc' },
      lockMode: em.isInTransaction() ? LockMode.PESSIMISTIC_READ : LockMode.NONE,
    },
  );

export type PlacedFile = {
  readonly mediaId: string;
  /** Part of the thread, from 0; -1 for a file that a channel's option names. */
  readonly part: number;
  /** Whether it came from `media_urls`. */
  readonly fromUrl: boolean;
  /** For this post only; null uses the file's alt text. */
  readonly altText: string | null;
};

/** A file of a post, possibly deleted from the library. */
export type PostFile = PlacedFile & { readonly name: string; readonly isDeleted: boolean };

/** Reads a post's files in their order, locked against deletion until the transaction ends. */
export const lockPostMedia = (
  em: Em,
  { workspaceId, id: postId }: Pick<Post, 'workspaceId' | 'id'>,
): Promise<PostFile[]> =>
  query(
    em,
    sql<PostFile>`
      select pm.media_id as "mediaId", pm.part, pm.from_url as "fromUrl", pm.alt_text as "altText", m.name,
        m.deleted_at is not null as "isDeleted"
      from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
      where pm.post_id = ${postId} and pm.workspace_id = ${workspaceId} order by pm.position for share of m`,
  );

export async function attachMedia(
  em: Em,
  workspaceId: string,
  postId: string,
  placed: readonly PlacedFile[],
): Promise<void> {
  await em.nativeDelete(PostMedia, { postId, workspaceId });
  for (const [position, { mediaId, part, fromUrl, altText }] of placed.entries()) {
    em.create(PostMedia, { workspaceId, postId, position, mediaId, part, fromUrl, altText });
  }
}

// A crash or a lost response may come between the bytes of a file and its row. So the row comes first, without
// `stored_at`, and is committed before the bytes are stored; and it keeps `stored_at` after its deletion until the bytes
// are removed. The sweep finds both by `media_files_unsettled`.

/** Commits the row of a file whose bytes are stored next. */
export async function beginFile(
  em: Em,
  workspaceId: string,
  file: Omit<MediaFile, 'workspaceId' | 'createdAt' | 'storedAt' | 'deletedAt'>,
): Promise<void> {
  const createdAt = raw<Date>('now()'); // The sweep compares it with the database's clock.
  await em.insert(MediaFile, { ...file, workspaceId, createdAt, storedAt: null, deletedAt: null });
}

/** Puts stored files into the library. @returns those that the sweep has not abandoned. */
export async function claimFiles(em: Em, ids: readonly string[], at: Date): Promise<MediaFile[]> {
  const rows = await query<object>(
    em,
    sql`update media_files set stored_at = ${at}, created_at = ${at}
        where id = any(${ids}::uuid[]) and stored_at is null and deleted_at is null returning *`,
  );
  return rows.map((row) => em.map(MediaFile, row));
}

/**
 * Marks files that are not in the library for removal, by default those begun more than an hour ago. Skips files that a
 * running transaction has locked: a COMMIT without a response may still succeed.
 */
export async function abandonUnclaimed(em: Em, ids?: readonly string[]): Promise<string[]> {
  const which: RawBuilder<unknown> = ids
    ? sql`id = any(${ids}::uuid[])`
    : sql`created_at < now() - interval '1 hour'`;
  const rows = await query(
    em,
    sql<{ id: string }>`update media_files set deleted_at = now(), stored_at = now()
        where id in (select id from media_files
          where stored_at is null and deleted_at is null and ${which} for update skip locked)
        returning id`,
  );
  return rows.map(({ id }) => id);
}

/** @returns ids of deleted files whose bytes are still stored, in order. @param after Id of the last one before. */
export async function deletedWithBytes(em: Em, after: string, limit: number): Promise<string[]> {
  const files = await em.find(
    MediaFile,
    { deletedAt: { $ne: null }, storedAt: { $ne: null }, id: { $gt: after } },
    { fields: ['id'], orderBy: { id: 'asc' }, limit },
  );
  return files.map(({ id }) => id);
}

/** Records that the bytes of deleted files are removed, and removes the rows that no post needs. */
export async function forgetFiles(em: Em, ids: readonly string[]): Promise<void> {
  const these = sql`m.id = any(${ids}::uuid[]) and m.deleted_at is not null`;
  await query(em, sql`update media_files m set stored_at = null where ${these}`);
  await query(
    em,
    sql`delete from media_files m where ${these} and not exists (
        select from post_media pm where pm.media_id = m.id and pm.workspace_id = m.workspace_id)`,
  );
}

type MediaSearch = {
  readonly type: 'image' | 'video' | undefined;
  /** Any part of the name, in any case. */
  readonly search: string | undefined;
  readonly after: { readonly createdAt: Date; readonly id: string } | undefined;
  readonly limit: number;
};

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
