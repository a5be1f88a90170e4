import { sql } from 'kysely';
import { MediaFile } from '../../db/entities/media.ts';
import { PostMedia } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { query, queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isId } from '../../domain/json-schema.ts';
import type { PostContent } from './content.ts';
import type { AttachmentFacts } from '../../networks/content-rules.ts';
import type { GivenFiles } from './given-files.ts';

/** The position of a file in a post. */
export type PlacedFile = {
  readonly mediaId: string;
  /** Part of the thread, from 0; -1 for a file that a channel's option names. */
  readonly part: number;
  /** Whether it came from `media_urls`. */
  readonly fromUrl: boolean;
  /** For this post only; null uses the file's alt text. */
  readonly altText: string | null;
};

/** A file as the validation rules see it. */
export type FileToValidate = AttachmentFacts & {
  readonly id: string;
  readonly part: number;
  /** JSON pointer to the list of the part's files in the request. */
  readonly listedAt: string;
};

/** Facts of the placed files, in their order, without files that were not found. */
export const factsOf = (
  placed: readonly PlacedFile[],
  found: ReadonlyMap<string, AttachmentFacts>,
  given: readonly GivenFiles[],
): FileToValidate[] =>
  placed.flatMap(({ mediaId: id, part, altText }) => {
    const file = found.get(id);
    if (!file) {
      return [];
    }

    const { name, type, sizeBytes, width, height, durationMs, details } = file;
    const facts = { id, name, type, sizeBytes, width, height, durationMs, details };
    const list = given.find((files) => files.part === part);
    const listedAt = list ? listOf(list) : '/media_ids';
    return [{ ...facts, part, listedAt, altText: altText ?? file.altText }];
  });

/** File ids in a request. */
export type NamedIds = {
  readonly ids: readonly string[];
  /** JSON pointer to the ids in the request. */
  readonly path: string;
};

/** The file ids that a request gives to the parts of a post. */
export const idsOfParts = (given: readonly GivenFiles[]): NamedIds[] =>
  given.map((files) => ({ ids: files.ids ?? [], path: listOf(files) }));

const listOf = ({ at, field }: GivenFiles): string => `${at}/${field}`;

/** The ids of channels' own files. */
export const idsOfChannels = ({ channelFiles }: Pick<PostContent, 'channelFiles'>): NamedIds[] =>
  Object.entries(channelFiles).flatMap(([channelId, files]) =>
    files.length > 0
      ? [{ ids: files.map((file) => file.media_id), path: `/channel_media/${channelId}` }]
      : [],
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
  const faults = given.flatMap(({ ids, path }) => {
    const unknown = ids.filter((id) => !byId.has(id));
    const message = `No media file of this workspace has the id ${[...new Set(unknown)].join(', ')}.`;
    return unknown.length > 0 ? [{ path, message }] : [];
  });
  if (faults.length > 0) {
    const sentences = new Set(faults.map(({ message }) => message));
    throw new AppError('invalid_media_ids', [...sentences].join(' '), { details: faults });
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
    const message = `alt_texts names ${stray.join(', ')}, which is not among ${where}.`;
    return stray.length > 0 ? [{ path: `${at}/alt_texts`, message }] : [];
  });
  if (faults.length > 0) {
    const sentences = faults.map(({ message }) => message).join(' ');
    throw new AppError('invalid_media_ids', sentences, { details: faults });
  }
}

/** Replaces the post's files, in this order, without duplicates in a part. */
export async function attachMedia(
  em: Em,
  workspaceId: string,
  postId: string,
  placed: readonly PlacedFile[],
): Promise<void> {
  await em.nativeDelete(PostMedia, { postId, workspaceId });
  const seen = new Set<string>();
  for (const file of placed) {
    const key = `${file.part} ${file.mediaId}`;
    if (!seen.has(key)) {
      em.create(PostMedia, { workspaceId, postId, position: seen.size, ...file });
      seen.add(key);
    }
  }
}

/** Size of the alt texts that files have for their post only, in bytes. */
export const altTextBytes = (placed: readonly Pick<PlacedFile, 'altText'>[]): number =>
  placed.reduce((sum, { altText }) => sum + Buffer.byteLength(altText ?? ''), 0);

/** A file of a post, possibly deleted from the library. */
export type PostFile = PlacedFile & { readonly name: string; readonly isDeleted: boolean };

/** Reads a post's files in their order, locked against deletion until the transaction ends. */
export const lockPostMedia = (
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
): Promise<PostFile[]> =>
  query(
    em,
    sql<PostFile>`
      select pm.media_id as "mediaId", pm.part, pm.from_url as "fromUrl", pm.alt_text as "altText", m.name,
        m.deleted_at is not null as "isDeleted"
      from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
      where pm.post_id = ${postId} and pm.workspace_id = ${workspaceId} order by pm.position for share of m`,
  );
