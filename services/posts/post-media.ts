import type { MediaFile } from '../../db/entities/media.ts';
import type { Em } from '../../db/orm.ts';
import { keepMedia, type PlacedFile } from '../../db/repositories/media.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import type { AttachmentFacts } from '../../networks/content-rules.ts';
import type { QuotaOwner } from '../context.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import type { PostContent } from './content.ts';
import type { FileInPost, NamedFile } from './read-files.ts';

export type FileToValidate = AttachmentFacts & {
  readonly id: string;
  readonly part: number;
  /** JSON pointer to its item in the request. */
  readonly path: string;
};

/** Facts of the placed files, in their order, without files that were not found. */
export const factsOf = (
  placed: readonly FileInPost[],
  found: ReadonlyMap<string, AttachmentFacts>,
): FileToValidate[] =>
  placed.flatMap(({ mediaId: id, part, altText, path }) => {
    const file = found.get(id);
    if (!file) {
      return [];
    }

    const { name, type, sizeBytes, width, height, durationMs, details } = file;
    const facts = { id, name, type, sizeBytes, width, height, durationMs, details };
    return [{ ...facts, part, path, altText: altText ?? file.altText }];
  });

export const filesOfChannels = ({ channelFiles }: Pick<PostContent, 'channelFiles'>): NamedFile[] =>
  Object.entries(channelFiles).flatMap(([channelId, files]) =>
    files.map((file, index) => ({
      mediaId: file.media_id,
      path: `/channel_media/${channelId}/${index}`,
    })),
  );

/** Files that options name or that only one channel gets. The row in the post protects them from deletion. */
export const apartFiles = (named: readonly NamedFile[]): FileInPost[] =>
  [...Map.groupBy(named, ({ mediaId }) => mediaId).values()].flatMap(([file]) =>
    Object.assign({ part: -1, fromUrl: false, altText: null }, file),
  );

/**
 * Returns the workspace's files, locked against deletion until the transaction ends: a post never loses a file between
 * the check and the commit.
 */
export async function chooseMedia(
  em: Em,
  workspaceId: string,
  named: readonly NamedFile[],
): Promise<Map<string, MediaFile>> {
  const wellFormed = [...new Set(named.map(({ mediaId }) => mediaId))].filter(isId);
  const found = wellFormed.length > 0 ? await keepMedia(em, workspaceId, wellFormed) : [];
  const byId = new Map(found.map((file) => [file.id, file]));
  const unknown = named.filter(({ mediaId }) => !byId.has(mediaId));
  if (unknown.length > 0) {
    const message = (id: string) => `No media file of this workspace has the id ${id}.`;
    const ids = new Set(unknown.map(({ mediaId }) => mediaId));
    const details = unknown.map(({ mediaId, path }) => ({ path, message: message(mediaId) }));
    const all = `${message([...ids].join(', '))} GET /media lists the ids.`;
    throw new AppError('invalid_media_ids', all, { details });
  }

  return byId;
}

/** The same with the downloaded files, which it puts into the library. */
export async function claimMedia(
  em: Em,
  owner: QuotaOwner,
  named: readonly NamedFile[],
  downloaded: MediaToInsert,
  now: Date,
): Promise<Map<string, MediaFile>> {
  const fresh = new Set(downloaded.files.map(({ id }) => id));
  const others = named.filter(({ mediaId }) => !fresh.has(mediaId));
  const found = await chooseMedia(em, owner.workspaceId, others);
  for (const file of await insertMedia(em, owner, downloaded, now)) {
    found.set(file.id, file);
  }

  return found;
}

/** Size of the alt texts that files have for their post only, in bytes. */
export const altTextBytes = (placed: readonly Pick<PlacedFile, 'altText'>[]): number =>
  placed.reduce((sum, { altText }) => sum + Buffer.byteLength(altText ?? ''), 0);
