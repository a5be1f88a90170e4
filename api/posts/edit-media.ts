import { MediaFile } from '../../db/entities/media-file.ts';
import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import { insertMedia } from '../media/insert-media.ts';
import type { NewMedia } from '../media/new-media.ts';
import { attachMedia, chooseMedia, type AttachedFile } from './attach-media.ts';
import type { EditPostBody } from './schemas.ts';

type Row = { media_id: string; from_url: boolean };

/**
 * The post's files after an edit, attached to it. `media_ids` replaces those that came by id and `media_urls` those
 * that came by URL; what is not sent stays.
 *
 * @throws AppError `invalid_media_ids` when a file is unknown, or one that stays was deleted meanwhile.
 */
export async function editMedia(
  em: Em,
  post: Post,
  request: EditPostBody,
  downloaded: readonly NewMedia[],
  now: Date,
): Promise<MediaFile[]> {
  const { id: postId, workspaceId } = post;
  const rows = await em.execute<Row[]>(
    'select media_id, from_url from post_media where post_id = ? and workspace_id = ? order by position',
    [postId, workspaceId],
  );
  const stored = (fromUrl: boolean): string[] =>
    rows.filter((row) => row.from_url === fromUrl).map((row) => row.media_id);
  const byId = request.media_ids === undefined ? stored(false) : (request.media_ids ?? []);
  const chosen = (files: readonly MediaFile[], fromUrl: boolean): AttachedFile[] =>
    files.map((file) => ({ file, fromUrl }));
  const attached = [
    ...chosen(await chooseMedia(em, workspaceId, byId), false),
    ...(request.media_urls === undefined
      ? chosen(await chooseMedia(em, workspaceId, stored(true)), true)
      : chosen(insertMedia(em, workspaceId, downloaded, now), true)),
  ];
  if (request.media_ids !== undefined || request.media_urls !== undefined) {
    await em.flush();
    await attachMedia(em, workspaceId, postId, attached);
  }

  return attached.map(({ file }) => file);
}
