import { sql } from 'kysely';
import { MediaFile } from '../../db/entities/media-file.ts';
import { PostMedia } from '../../db/entities/post-media.ts';
import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import type { EditPostBody } from './schemas.ts';

/** A file of a post, and whether it came by `media_urls`. */
export type AttachedFile = { readonly file: MediaFile; readonly fromUrl: boolean };

/**
 * The workspace's files with these ids, in this order, each once, kept from being deleted until the transaction
 * ends: a post never loses a file between the check and the commit.
 *
 * @throws AppError `invalid_media_ids` that names every id which is malformed, unknown, deleted or of another workspace.
 */
export async function chooseMedia(
  em: Em,
  workspaceId: string,
  given: readonly string[],
): Promise<MediaFile[]> {
  const ids = [...new Set(given)];
  const wellFormed = ids.filter(isId);
  if (wellFormed.length > 0) {
    await queryPlanned(
      em,
      sql`select id from media_files where workspace_id = ${workspaceId} and id = any(${wellFormed})
          order by id for share`,
    );
  }

  const found = wellFormed.length
    ? await em.find(MediaFile, { id: { $in: wellFormed }, workspaceId, deletedAt: null })
    : [];
  const byId = new Map(found.map((file) => [file.id, file]));
  const unknown = ids.filter((id) => !byId.has(id));
  if (unknown.length > 0) {
    const message = `No media file of this workspace has the id ${unknown.join(', ')}.`;
    throw new AppError('invalid_media_ids', message, {
      details: [{ path: '/media_ids', message }],
    });
  }

  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Makes these the post's files, in this order. */
export async function attachMedia(
  em: Em,
  workspaceId: string,
  postId: string,
  attached: readonly AttachedFile[],
): Promise<void> {
  await em.nativeDelete(PostMedia, { postId, workspaceId });
  const seen = new Set<string>();
  for (const { file, fromUrl } of attached) {
    if (!seen.has(file.id)) {
      em.create(PostMedia, {
        workspaceId,
        postId,
        mediaId: file.id,
        position: seen.size,
        fromUrl,
      });
      seen.add(file.id);
    }
  }
}

export type EditedMedia = {
  readonly files: readonly MediaFile[];
  /** Names of files that the post had, and that were deleted from the library. */
  readonly deleted: readonly string[];
};

type PostFile = {
  readonly media_id: string;
  readonly from_url: boolean;
  readonly name: string;
  readonly is_deleted: boolean;
};

/** Reads a post's files in their order, and keeps them from being deleted until the transaction ends. */
export const lockPostMedia = (
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
): Promise<PostFile[]> =>
  query(
    em,
    sql<PostFile>`
      select pm.media_id, pm.from_url, m.name, m.deleted_at is not null as is_deleted
      from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
      where pm.post_id = ${postId} and pm.workspace_id = ${workspaceId} order by pm.position for share of m`,
  );

/**
 * The post's files after an edit, attached to it. `media_ids` replaces those that came by id and `media_urls` those
 * that came by URL; what is not sent stays.
 *
 * @throws AppError `invalid_media_ids`, `quota_exceeded`
 */
export async function editMedia(
  em: Em,
  post: Post,
  {
    request,
    downloaded,
    quotas,
  }: {
    readonly request: EditPostBody;
    readonly downloaded: MediaToInsert;
    readonly quotas: Quotas;
  },
  now: Date,
): Promise<EditedMedia> {
  const { id: postId, workspaceId } = post;
  const { media_ids: ids, media_urls: urls } = request;
  const rows = await lockPostMedia(em, { workspaceId, postId });
  const stay = rows.filter((row) => (row.from_url ? urls : ids) === undefined);
  const storedIds = (fromUrl: boolean): string[] =>
    stay.filter((row) => row.from_url === fromUrl && !row.is_deleted).map((row) => row.media_id);
  const choose = async (given: readonly string[], fromUrl: boolean): Promise<AttachedFile[]> =>
    (await chooseMedia(em, workspaceId, given)).map((file) => ({ file, fromUrl }));
  const attached = [
    ...(await choose(ids === undefined ? storedIds(false) : (ids ?? []), false)),
    ...(await choose(storedIds(true), true)),
    ...(await insertMedia(em, { workspaceId, quotas }, downloaded, now)).map((file) => ({
      file,
      fromUrl: true,
    })),
  ];
  if (ids !== undefined || urls !== undefined) {
    await em.flush();
    await attachMedia(em, workspaceId, postId, attached);
  }

  return {
    files: attached.map(({ file }) => file),
    deleted: stay.filter((row) => row.is_deleted).map(({ name }) => name),
  };
}

/**
 * For the warning of a draft; a post that is to be scheduled is refused instead, since it would go out without them.
 *
 * @throws AppError `invalid_media_ids`
 */
export function assertNoneDeleted({ deleted }: EditedMedia, isScheduled: boolean): string | null {
  if (deleted.length === 0) {
    return null;
  }

  const message = `Files of this post were deleted: ${deleted.join(', ')}. Send media_ids and media_urls anew.`;
  if (isScheduled) {
    throw new AppError('invalid_media_ids', message, {
      details: [{ path: '/media_ids', message }],
    });
  }

  return message;
}
