import type { EntityDictionary } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import { recordAudit, type Actor } from '../../db/audit.ts';
import { MediaFile } from '../../db/entities/media.ts';
import type { Em } from '../../db/orm.ts';
import { isOpenPost, isReached } from '../../db/post-status.ts';
import { db, query, queryPlanned } from '../../db/query.ts';
import { reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { describeError } from '../../runtime/logger.ts';
import { encodeCursor, readCursor } from '../cursor.ts';
import type { ServiceDeps } from '../deps.ts';
import { removeBytes } from './unclaimed-files.ts';

/** Maximum files per page. */
export const maxMediaPage = 50;

type MediaSearch = {
  readonly type?: 'image' | 'video';
  /** Any part of the name, in any case. */
  readonly search?: string;
  readonly limit?: number;
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string;
};

/**
 * Lists the workspace's files, newest first.
 *
 * @throws AppError `invalid_request` for an invalid search text or cursor.
 */
export async function listMedia(
  em: Em,
  workspaceId: string,
  { type, search, limit = maxMediaPage, cursor }: MediaSearch,
): Promise<{ files: MediaFile[]; nextCursor: string | null }> {
  assertText(search ?? '');
  const after = readCursor(cursor);
  const none = sql``;
  const rows = await queryPlanned<EntityDictionary<MediaFile>>(
    em,
    sql`select * from media_files where workspace_id = ${workspaceId} and deleted_at is null and stored_at is not null
     ${type === undefined ? none : sql`and type like ${`${type}/%`}`}
     ${search === undefined ? none : sql`and name ilike ${`%${literally(search)}%`}`}
     ${after ? sql`and (created_at, id) < (${after.createdAt}, ${after.id})` : none}
     order by created_at desc, id desc limit ${limit + 1}`,
  );
  const files = rows.slice(0, limit).map((row) => em.map(MediaFile, row));
  const last = files.at(-1);
  return { files, nextCursor: last && rows.length > limit ? encodeCursor(last) : null };
}

function assertText(search: string): void {
  if (!isText(search)) {
    const message = 'must be text: no NUL, no half of a surrogate pair';
    throw new AppError('invalid_request', `?search ${message}.`, {
      details: [{ path: '?search', message }],
    });
  }
}

/** Names are stored in NFC. Escapes the special characters of LIKE. */
const literally = (search: string): string =>
  search.normalize('NFC').replaceAll(/[\\%_]/gv, String.raw`\$&`);

/** The condition of files that are neither deleted nor still being stored. */
export const inLibrary = { deletedAt: null, storedAt: { $ne: null } } as const;

/** @throws AppError `not_found` */
export async function loadMedia(em: Em, workspaceId: string, id: string): Promise<MediaFile> {
  const file = await em.findOne(MediaFile, { id, workspaceId, ...inLibrary });
  if (!file) {
    throw unknownFile(id);
  }

  return file;
}

/** Finds a file by the token of its link, in any workspace. @returns null when there is none. */
export async function findByLink(em: Em, linkToken: string): Promise<MediaFile | null> {
  const isToken = /^[0-9A-Za-z]{32}$/v.test(linkToken);
  return isToken ? em.findOne(MediaFile, { linkToken, ...inLibrary }) : null;
}

/**
 * Removes a file from the library, and its bytes from the storage. Drafts and ended posts lose the file.
 *
 * @throws AppError `not_found`; `media_in_use` while a scheduled or publishing post uses it, or any that the caller's
 *   key may not change.
 */
export async function deleteMedia(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'media'>,
  actor: Actor,
  id: string,
): Promise<void> {
  const { orm, now } = deps;
  await orm.em.fork().transactional(async (em) => {
    await markDeleted(em, actor, id, now());
    await recordAudit(em, actor, 'media.deleted', id);
  });
  await removeBytes(deps, [id]).catch((error: unknown) =>
    deps.log.warn(
      { error: describeError(error), file: id },
      'file not removed, the next sweep retries',
    ),
  );
}

async function markDeleted(em: Em, actor: Actor, id: string, at: Date): Promise<void> {
  const { workspaceId, channelIds = null } = actor;
  // A call that attaches the file to a post locks its row: it commits first and we see its post, or it finds the file
  // gone.
  const [file] = await query(
    em,
    sql`select id from media_files
     where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null and stored_at is not null for update`,
  );
  if (!file) {
    throw unknownFile(id);
  }

  const [post] = await query<{ id: string | null; status: string }>(
    em,
    sql`select case when ${isReached(actor)} then p.id end as id, p.status
     from post_media m join posts p on p.id = m.post_id and p.workspace_id = m.workspace_id
     where m.media_id = ${id} and m.workspace_id = ${workspaceId} and (${isOpenPost('p')} or not ${isReached(actor)}
       or exists (select from post_channels pc where pc.post_id = p.id and pc.workspace_id = p.workspace_id
         and pc.channel_id <> all(${channelIds}::uuid[])))
     limit 1`,
  );
  if (post) {
    const which = post.id === null ? 'A post of other channels' : `Post ${post.id}`;
    throw new AppError('media_in_use', `${which}, which is ${post.status}, uses this file.`);
  }

  const [channel] = await query(
    em,
    sql<{ id: string }>`select c.id from channels c
      where c.workspace_id = ${workspaceId} and c.disconnected_at is null and ${namesFile('c', sql`${id}`)} limit 1`,
  );
  if (channel) {
    const which = reaches({ channelIds }, channel.id) ? `channel ${channel.id}` : 'another channel';
    throw new AppError('media_in_use', `The defaults of ${which} name this file.`);
  }

  await query(
    em,
    db
      .updateTable('media_files')
      .set({ deleted_at: at })
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId),
  );
}

const unknownFile = (id: string): AppError =>
  new AppError('not_found', `There is no media file "${id}".`);

/** SQL: whether a channel's defaults name a file. @param channels The table's alias in the statement. */
export const namesFile = (channels: string, id: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql`exists (select from jsonb_each_text(coalesce(${sql.ref(`${channels}.options`)}, '{}')) option
    where option.value = ${id}::text)`;
