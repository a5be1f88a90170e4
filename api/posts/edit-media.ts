import { isDeepStrictEqual } from 'node:util';
import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import { givenFiles, type GivenFiles } from './given-files.ts';
import {
  altTextBytes,
  assertOwnAltTexts,
  attachMedia,
  chooseMedia,
  downloadedFiles,
  factsOf,
  idsOfParts,
  lockPostMedia,
  namedFiles,
  optionFiles,
  type FileToValidate,
  type NamedIds,
  type PlacedFile,
  type PostFile,
} from './post-media.ts';
import type { EditPostBody } from './schemas.ts';

export type EditedMedia = {
  readonly files: readonly FileToValidate[];
  /** Names of files that the post has, and that were deleted from the library. */
  readonly deleted: readonly string[];
  /** Whether it has other files than before, or other alt texts of its own. */
  readonly isChanged: boolean;
  /** By how many bytes its own alt texts grow. */
  readonly textBytes: number;
  /** Parts of the thread whose files are not the same as before. */
  readonly changedParts: ReadonlySet<number>;
};

/**
 * The post's files after an edit, attached to it. `media_ids` replaces those of the first part that came by id,
 * `media_urls` those that came by URL, and `thread` those of the later parts; what is not sent stays. So do the alt
 * texts of files that stay on the first part, unless `alt_texts` is sent.
 *
 * @throws AppError `invalid_media_ids`, `quota_exceeded`
 */
export async function editMedia(
  em: Em,
  { id: postId, workspaceId }: Post,
  edit: {
    readonly request: EditPostBody;
    readonly downloaded: MediaToInsert;
    readonly quotas: Quotas;
    /** Files that the sent options name. */
    readonly inOptions: readonly NamedIds[];
  },
  now: Date,
): Promise<EditedMedia> {
  const { request, downloaded, quotas, inOptions } = edit;
  const rows = await lockPostMedia(em, { workspaceId, postId });
  const given = givenFiles(request);
  const kept = rows.filter((row) => isKept(row, given[0], request));
  const ids = kept.flatMap(({ mediaId, isDeleted }) => (isDeleted ? [] : [mediaId]));
  const named = [...idsOfParts(given), ...inOptions, { ids, path: '/media_ids' }];
  const found = await chooseMedia(em, workspaceId, named);
  const inserted = await insertMedia(em, { workspaceId, quotas }, downloaded, now);
  for (const file of inserted) {
    found.set(file.id, file);
  }

  const placed = [
    ...placedAfter(rows, kept, given, downloadedFiles(inserted)),
    ...kept.filter(({ part }) => part < 0).map(placeOf),
    ...optionFiles(inOptions),
  ];
  assertOwnAltTexts(given, placed);
  const before = rows.map(placeOf);
  const isChanged = !isDeepStrictEqual(placed, before);
  if (isChanged) {
    await em.flush();
    await attachMedia(em, workspaceId, postId, placed);
  }

  const whole = rows.filter(({ isDeleted }) => !isDeleted);
  return {
    files: factsOf(placed, found),
    deleted: kept.flatMap(({ isDeleted, name }) => (isDeleted ? [name] : [])),
    isChanged,
    textBytes: altTextBytes(placed) - altTextBytes(before),
    changedParts: changedParts(
      whole,
      placed.filter(({ mediaId }) => found.has(mediaId)),
    ),
  };
}

function isKept(
  { part, fromUrl }: PostFile,
  first: GivenFiles,
  { thread, media_urls: urls, channel_options: options }: EditPostBody,
): boolean {
  if (part < 0) {
    return options === undefined;
  }

  if (part > 0) {
    return thread === undefined;
  }

  return (fromUrl ? urls : first.ids) === undefined;
}

/** All files of the edited post, in order. Those that were deleted from the library keep their place. */
function placedAfter(
  rows: readonly PostFile[],
  kept: readonly PostFile[],
  [first, ...later]: readonly [GivenFiles, ...GivenFiles[]],
  downloaded: readonly PlacedFile[],
): PlacedFile[] {
  const stored = rows.flatMap(({ part, mediaId, altText }) =>
    part === 0 && altText !== null ? [[mediaId, altText] as const] : [],
  );
  const altTexts = first.altTexts ?? Object.fromEntries(stored);
  const ofFirst = kept
    .filter(({ part }) => part === 0)
    .map(({ mediaId, part, fromUrl }) => ({
      mediaId,
      part,
      fromUrl,
      altText: altTexts[mediaId] ?? null,
    }));
  return [
    ...(first.ids ? namedFiles({ ...first, altTexts }) : ofFirst.filter((file) => !file.fromUrl)),
    ...ofFirst.filter((file) => file.fromUrl),
    ...downloaded,
    ...kept.filter(({ part }) => part > 0).map(placeOf),
    ...later.flatMap(namedFiles),
  ];
}

const placeOf = ({ mediaId, part, fromUrl, altText }: PlacedFile): PlacedFile => ({
  mediaId,
  part,
  fromUrl,
  altText,
});

function changedParts(
  before: readonly PlacedFile[],
  after: readonly PlacedFile[],
): ReadonlySet<number> {
  const idsOf = (files: readonly PlacedFile[], part: number) =>
    files.flatMap((file) => (file.part === part ? [file.mediaId] : []));
  const parts = new Set([...before, ...after].flatMap(({ part }) => (part < 0 ? [] : [part])));
  return new Set(
    [...parts].filter((part) => !isDeepStrictEqual(idsOf(before, part), idsOf(after, part))),
  );
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

  const message = `Files of this post were deleted: ${deleted.join(', ')}. Send anew what names them: media_ids and media_urls, thread, or channel_options.`;
  if (isScheduled) {
    throw new AppError('invalid_media_ids', message, {
      details: [{ path: '/media_ids', message }],
    });
  }

  return message;
}
