import type { MediaFile } from '../../db/entities/media-file.ts';
import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import { attachMedia, chooseMedia, type AttachedFile } from './attach-media.ts';
import type { EditPostBody } from './schemas.ts';

export type EditedMedia = {
  readonly files: readonly MediaFile[];
  /** Names of files that the post had, and that were deleted from the library. */
  readonly deleted: readonly string[];
};

type Row = { media_id: string; from_url: boolean; name: string; is_deleted: boolean };

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
  const rows = await em.execute<Row[]>(
    `select pm.media_id, pm.from_url, m.name, m.deleted_at is not null as is_deleted
     from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
     where pm.post_id = ? and pm.workspace_id = ? order by pm.position for share of m`,
    [postId, workspaceId],
  );
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
export function mustBeComplete({ deleted }: EditedMedia, isScheduled: boolean): string | null {
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
