import type { MediaFile } from '../../db/entities/media.ts';
import type { Em } from '../../db/orm.ts';
import { keepMedia, type PlacedFile } from '../../db/repositories/media.ts';
import { AppError, pointerToken } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import type { PostContent } from './content.ts';
import type { AttachmentFacts } from '../../networks/content-rules.ts';
import type { GivenFiles } from './given-files.ts';

/** A file as the validation rules see it. */
export type FileToValidate = AttachmentFacts & {
  readonly id: string;
  readonly part: number;
  /** JSON pointer to its item in the request. */
  readonly path: string;
};

/**
 * Facts of the placed files, in their order, without files that were not found.
 *
 * @param given The files of the request. An edit may leave out those that stay.
 */
export const factsOf = (
  placed: readonly PlacedFile[],
  found: ReadonlyMap<string, AttachmentFacts>,
  given: readonly GivenFiles[],
): FileToValidate[] => {
  const places = placesInRequest(placed, given);
  return placed.flatMap(({ mediaId: id, part, altText }, index) => {
    const file = found.get(id);
    if (!file) {
      return [];
    }

    const { name, type, sizeBytes, width, height, durationMs, details } = file;
    const facts = { id, name, type, sizeBytes, width, height, durationMs, details };
    return [{ ...facts, part, path: places[index] ?? '', altText: altText ?? file.altText }];
  });
};

/** A JSON pointer for each file. A file that an edit leaves out has the place where the post has it. */
function placesInRequest(placed: readonly PlacedFile[], given: readonly GivenFiles[]): string[] {
  const filled = new Map<string, number>();
  return placed.map(({ mediaId, part, fromUrl }) => {
    const sent = given.find((one) => one.part === part);
    const { at = part > 0 ? `/thread/${part}` : '', field = 'media_ids' } = sent ?? {};
    const list = fromUrl ? '/media_urls' : listOf({ at, field });
    const next = filled.get(list) ?? 0;
    filled.set(list, next + (part < 0 ? 0 : 1));
    return `${list}/${fromUrl ? next : (sent?.ids?.indexOf(mediaId) ?? next)}`;
  });
}

export type NamedIds = {
  readonly ids: readonly string[];
  /** JSON pointer to their place in the request. */
  readonly path: string;
};

/** The file ids that a request gives to the parts of a post, each with its place. */
export const idsOfParts = (given: readonly GivenFiles[]): NamedIds[] =>
  given.flatMap((files) =>
    (files.ids ?? []).map((id, index) => ({ ids: [id], path: `${listOf(files)}/${index}` })),
  );

const listOf = ({ at, field }: Pick<GivenFiles, 'at' | 'field'>): string => `${at}/${field}`;

export const idsOfChannels = ({ channelFiles }: Pick<PostContent, 'channelFiles'>): NamedIds[] =>
  Object.entries(channelFiles).flatMap(([channelId, files]) =>
    files.map((file, index) => ({
      ids: [file.media_id],
      path: `/channel_media/${channelId}/${index}`,
    })),
  );

/**
 * Returns the workspace's files with these ids, locked against deletion until the transaction ends: a post never loses
 * a file between the check and the commit.
 *
 * @param downloaded Files whose rows the caller inserts next; ids of these are left out.
 * @throws AppError `invalid_media_ids` that names every id which is malformed, unknown, deleted or of another
 *   workspace.
 */
export async function chooseMedia(
  em: Em,
  workspaceId: string,
  named: readonly NamedIds[],
  downloaded: readonly Pick<MediaFile, 'id'>[] = [],
): Promise<Map<string, MediaFile>> {
  const fresh = new Set(downloaded.map(({ id }) => id));
  const given = named.map(({ ids, path }) => ({ path, ids: ids.filter((id) => !fresh.has(id)) }));
  const wellFormed = [...new Set(given.flatMap(({ ids }) => ids))].filter(isId);
  const found = wellFormed.length > 0 ? await keepMedia(em, workspaceId, wellFormed) : [];
  const byId = new Map(found.map((file) => [file.id, file]));
  const unknown = given.flatMap(({ ids, path }) =>
    ids.flatMap((id) => (byId.has(id) ? [] : [{ id, path }])),
  );
  if (unknown.length > 0) {
    const message = (id: string) => `No media file of this workspace has the id ${id}.`;
    const ids = new Set(unknown.map(({ id }) => id));
    throw new AppError(
      'invalid_media_ids',
      `${message([...ids].join(', '))} GET /media lists the ids.`,
      { details: unknown.map(({ id, path }) => ({ path, message: message(id) })) },
    );
  }

  return byId;
}

/** The files that a part names by id, without duplicates. */
export const namedFiles = ({ part, ids = [], altTexts = {} }: GivenFiles): PlacedFile[] =>
  [...new Set(ids)].map((mediaId) => ({
    mediaId,
    part,
    fromUrl: false,
    altText: altTexts[mediaId] ?? null,
  }));

/** Files from `media_urls`, which follow the other files of the first part. */
export const downloadedFiles = ({ downloadedIds = [] }: GivenFiles): PlacedFile[] =>
  downloadedIds.map((mediaId) => ({ mediaId, part: 0, fromUrl: true, altText: null }));

/** Files that options name or that only one channel gets. The row in the post protects them from deletion. */
export const optionFiles = (named: readonly NamedIds[]): PlacedFile[] =>
  [...new Set(named.flatMap(({ ids }) => ids))].map((mediaId) => ({
    mediaId,
    part: -1,
    fromUrl: false,
    altText: null,
  }));

/**
 * The files of a new post, in order.
 *
 * @throws AppError `invalid_media_ids`
 */
export function placeFiles(given: readonly GivenFiles[]): PlacedFile[] {
  const placed = given.flatMap((files) => [...namedFiles(files), ...downloadedFiles(files)]);
  assertOwnAltTexts(given, placed);
  return placed;
}

/** @throws AppError `invalid_media_ids` for an alt text of a file that its part does not have. */
export function assertOwnAltTexts(
  given: readonly GivenFiles[],
  placed: readonly PlacedFile[],
): void {
  const faults = given.flatMap(({ part, altTexts = {}, at }) => {
    const own = new Set(placed.flatMap((file) => (file.part === part ? [file.mediaId] : [])));
    const stray = Object.keys(altTexts).filter((id) => !own.has(id));
    const where = part === 0 ? "the post's files" : `the files of part ${part + 1}`;
    return stray.map((id) => ({
      path: `${at}/alt_texts/${pointerToken(id)}`,
      message: `alt_texts names ${id}, which is not among ${where}.`,
    }));
  });
  if (faults.length > 0) {
    const sentences = faults.map(({ message }) => message).join(' ');
    throw new AppError('invalid_media_ids', sentences, { details: faults });
  }
}

/** Size of the alt texts that files have for their post only, in bytes. */
export const altTextBytes = (placed: readonly Pick<PlacedFile, 'altText'>[]): number =>
  placed.reduce((sum, { altText }) => sum + Buffer.byteLength(altText ?? ''), 0);
