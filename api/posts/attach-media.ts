import { MediaFile } from '../../db/entities/media-file.ts';
import { PostMedia } from '../../db/entities/post-media.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/is-id.ts';

/** A file of a post, and whether it came by `media_urls`. */
export type AttachedFile = { readonly file: MediaFile; readonly fromUrl: boolean };

/**
 * The workspace's files with these ids, in this order, each once, kept from being deleted until the transaction
 * ends: a post never loses a file between the check and the commit.
 *
 * @throws AppError `invalid_media_ids` that names every id which is malformed, unknown, deleted or somebody else's.
 */
export async function chooseMedia(
  em: Em,
  workspaceId: string,
  given: readonly string[],
): Promise<MediaFile[]> {
  const ids = [...new Set(given)];
  const wellFormed = ids.filter(isId);
  if (wellFormed.length > 0) {
    await em.execute(
      'select id from media_files where workspace_id = ? and id in (?) order by id for share',
      [workspaceId, wellFormed],
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
