import { isDeepStrictEqual } from 'node:util';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import {
  attachMedia,
  lockPostMedia,
  type PlacedFile,
  type PostFile,
} from '../../db/repositories/media.ts';
import { AppError } from '../../domain/errors.ts';
import type { QuotaOwner } from '../context.ts';
import { insertMedia, type MediaToInsert } from '../media/store-files.ts';
import type { PostInput } from './content.ts';
import { givenFiles, type GivenFiles } from './given-files.ts';
import {
  altTextBytes,
  assertOwnAltTexts,
  chooseMedia,
  downloadedFiles,
  factsOf,
  idsOfParts,
  namedFiles,
  optionFiles,
  type FileToValidate,
  type NamedIds,
} from './post-media.ts';

export type EditedMedia = {
  readonly files: readonly FileToValidate[];
  /** Names of the post's files that were deleted from the library. */
  readonly deleted: readonly string[];
  /** Parts that have files, also deleted ones. */
  readonly parts: ReadonlySet<number>;
  /** Whether the post's files or its own alt texts have changed. */
  readonly isChanged: boolean;
  /** Growth of its own alt texts in bytes. */
  readonly textBytes: number;
  /** Later parts of a new `thread` that had files and now have none. */
  readonly emptiedParts: readonly number[];
  /** Parts of the thread whose files have changed. */
  readonly changedParts: ReadonlySet<number>;
};

type OptionFiles = {
  /** Files of the options and of single channels in the request. */
  readonly sent: readonly NamedIds[];
  /** Files of the channel defaults that the post adopts. */
  readonly inDefaults: readonly NamedIds[];
  /** All option values and channels' own files of the edited post. A file that is not among them is removed. */
  readonly values: ReadonlySet<unknown>;
};

/**
 * Computes and attaches the post's files after an edit. `media_ids` replaces the files of the first part that came by
 * id, `media_urls` those that came by URL, `media` both, and `thread` those of the later parts. Omitted fields leave their files
 * unchanged. Files that stay on the first part keep their alt texts unless `alt_texts` is sent.
 *
 * @throws AppError `invalid_media_ids`, `quota_exceeded`
 */
export async function editPostMedia(
  em: Em,
  post: Post,
  edit: {
    readonly input: PostInput;
    readonly downloaded: MediaToInsert;
    readonly owner: QuotaOwner;
    /** Files that options and defaults of the edited post name. */
    readonly inOptions: OptionFiles;
  },
  now: Date,
): Promise<EditedMedia> {
  const { id: postId, workspaceId } = post;
  const { input, downloaded, owner, inOptions } = edit;
  const rows = await lockPostMedia(em, post);
  const given = givenFiles(input);
  const kept = rows.filter((row) =>
    row.part < 0 ? isStillNamed(row, inOptions) : isKept(row, given[0], input),
  );
  const ids = kept.flatMap(({ mediaId, isDeleted }) => (isDeleted ? [] : [mediaId]));
  const newInDefaults = withoutKept(inOptions.inDefaults, kept);
  const named = [
    ...idsOfParts(given),
    ...inOptions.sent,
    ...newInDefaults,
    { ids, path: '/media_ids' },
  ];
  const found = await chooseMedia(em, workspaceId, named, downloaded.files);
  const inserted = await insertMedia(em, owner, downloaded, now);
  for (const file of inserted) {
    found.set(file.id, file);
  }

  const placed = [
    ...placedAfter(rows, kept, given),
    ...optionFiles(inOptions.sent),
    ...kept.filter(({ part }) => part < 0).map(placeOf),
    ...optionFiles(newInDefaults),
  ];
  assertOwnAltTexts(given, placed);
  const before = rows.map(placeOf);
  const isChanged = !isDeepStrictEqual(placed, before);
  if (isChanged) {
    await attachMedia(em, workspaceId, postId, placed);
  }

  const whole = rows.filter(({ isDeleted }) => !isDeleted);
  return {
    files: factsOf(placed, found, given),
    deleted: kept.flatMap(({ isDeleted, name }) => (isDeleted ? [name] : [])),
    parts: new Set(placed.flatMap(({ part }) => (part < 0 ? [] : [part]))),
    isChanged,
    emptiedParts: emptied(whole, placed, input.thread?.length ?? 0),
    textBytes: altTextBytes(placed) - altTextBytes(before),
    changedParts: changedParts(
      whole,
      placed.filter(({ mediaId }) => found.has(mediaId)),
    ),
  };
}

/** @param parts Length of the new thread; 0 without one. */
function emptied(
  before: readonly PostFile[],
  placed: readonly PlacedFile[],
  parts: number,
): number[] {
  const filled = new Set(placed.map(({ part }) => part));
  const had = [...new Set(before.map(({ part }) => part))];
  return had.filter((part) => part > 0 && part < parts && !filled.has(part));
}

/** Leaves out files that the post already has: one that was deleted meanwhile is reported by the post, not refused. */
const withoutKept = (named: readonly NamedIds[], kept: readonly PostFile[]): NamedIds[] =>
  named.map(({ ids, path }) => ({
    path,
    ids: ids.filter((id) => !kept.some(({ part, mediaId }) => part < 0 && mediaId === id)),
  }));

/** Files that the request itself names are placed again. */
const isStillNamed = ({ mediaId }: PostFile, { sent, values }: OptionFiles): boolean =>
  values.has(mediaId) && !sent.some(({ ids }) => ids.includes(mediaId));

function isKept(
  { part, fromUrl }: PostFile,
  first: GivenFiles,
  { thread, mediaUrls }: PostInput,
): boolean {
  if (part > 0) {
    return thread === undefined;
  }

  return (fromUrl ? mediaUrls : first.ids) === undefined;
}

/** All files of the edited post, in order. Files that were deleted from the library keep their position. */
function placedAfter(
  rows: readonly PostFile[],
  kept: readonly PostFile[],
  [first, ...later]: readonly [GivenFiles, ...GivenFiles[]],
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
    ...downloadedFiles(first),
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
 * Returns the warning for a draft. A scheduled post is refused instead, because it would be published without the
 * files.
 *
 * @throws AppError `invalid_media_ids`
 */
export function assertNoneDeleted({ deleted }: EditedMedia, isScheduled: boolean): string | null {
  if (deleted.length === 0) {
    return null;
  }

  const message = `Files of this post were deleted: ${deleted.join(', ')}. Send the field that names them again: media, or media_ids and media_urls, thread, channel_media, or channel_options.`;
  if (isScheduled) {
    throw new AppError('invalid_media_ids', message, {
      details: [{ path: '/media_ids', message }],
    });
  }

  return message;
}
