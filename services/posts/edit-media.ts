import { isDeepStrictEqual } from 'node:util';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { attachMedia, lockPostMedia, type PlacedFile } from '../../db/repositories/media.ts';
import { AppError } from '../../domain/errors.ts';
import type { QuotaOwner } from '../context.ts';
import type { MediaToInsert } from '../media/store-files.ts';
import { apartFiles, claimMedia, factsOf } from './post-media.ts';
import type { PostInput } from './post-request.ts';
import { placeFiles, type Downloads, type NamedFile } from './read-files.ts';

/** Files that options and single channels name. */
type FilesApart = {
  readonly sent: readonly NamedFile[];
  /** The files of the channel defaults that the post adopts. */
  readonly inDefaults: readonly NamedFile[];
  /** The ids of all that the edited post names. Its other files are removed. */
  readonly ids: ReadonlySet<string>;
};

/**
 * Computes and attaches the post's files after an edit. One that was deleted meanwhile stays, and is reported by the
 * post, unless the request names it.
 */
export async function editPostMedia(
  em: Em,
  post: Post,
  edit: {
    readonly input: PostInput;
    readonly downloaded: MediaToInsert;
    readonly downloads: Downloads;
    readonly owner: QuotaOwner;
    readonly filesApart: FilesApart;
  },
  now: Date,
) {
  const { input, downloaded, downloads, owner } = edit;
  const { sent, inDefaults, ids } = edit.filesApart;
  const rows = await lockPostMedia(em, post);
  const kept = rows
    .filter(({ part, mediaId }) => part < 0 && ids.has(mediaId))
    .map((stored) => ({ mediaId: stored.mediaId, path: '/media_ids', stored }));
  const keptIds = new Set(kept.map(({ mediaId }) => mediaId));
  const adopted = inDefaults.filter(({ mediaId }) => !keptIds.has(mediaId));
  const apart = [...sent, ...kept, ...adopted];
  const files = placeFiles(input, downloads, rows);
  const placed = [...files, ...apartFiles(apart)];
  const named = [...files, ...apart].filter(({ stored }) => !stored?.isDeleted);
  const found = await claimMedia(em, owner, named, downloaded, now);
  if (!isDeepStrictEqual(placed.map(placeOf), rows.map(placeOf))) {
    await attachMedia(em, post.workspaceId, post.id, placed);
  }

  const whole = rows.filter(({ isDeleted }) => !isDeleted);
  const after = placed.filter(({ mediaId }) => found.has(mediaId));
  return {
    files: factsOf(placed, found),
    /** Names of the post's files that were deleted from the library. */
    deleted: placed.flatMap(({ stored }) => (stored?.isDeleted ? [stored.name] : [])),
    /** Parts that have files, also deleted ones. */
    parts: new Set(files.map(({ part }) => part)),
    /** Files that stay without the alt text that the post had for them. */
    lostAltTexts: rows.flatMap(({ mediaId: id, part, altText: had }) => {
      const place = placed.find((file) => file.mediaId === id && file.part === part);
      return had !== null && place?.altText === null && input.alt_texts !== null ? [id] : [];
    }),
    /** Later parts of a new `thread` that had files and now have none. */
    emptiedParts: emptied(whole, placed, input.thread?.length ?? 0),
    /** Parts of the thread whose files have changed. */
    changedParts: changedParts(whole, after),
  };
}

export type EditedMedia = Awaited<ReturnType<typeof editPostMedia>>;

const placeOf = ({ mediaId, part, fromUrl, altText }: PlacedFile): PlacedFile => ({
  mediaId,
  part,
  fromUrl,
  altText,
});

/** @param parts Length of the new thread; 0 without one. */
function emptied(
  before: readonly PlacedFile[],
  placed: readonly PlacedFile[],
  parts: number,
): number[] {
  const filled = new Set(placed.map(({ part }) => part));
  const had = [...new Set(before.map(({ part }) => part))];
  return had.filter((part) => part > 0 && part < parts && !filled.has(part));
}

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
