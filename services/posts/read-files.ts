import type { PlacedFile, PostFile } from '../../db/repositories/media.ts';
import { AppError, pointerToken, wrongValue } from '../../domain/errors.ts';
import type { ChannelFile } from '../../domain/media.ts';
import type { GivenUrl } from '../media/download-media.ts';
import type { PostInput } from './post-request.ts';

// The files that a request names: by `media`, by `media_ids`, `alt_texts` and `media_urls`, and in its thread.

type MediaItem = NonNullable<PostInput['media']>[number];
type ThreadPart = NonNullable<PostInput['thread']>[number];

type FileFields = Pick<PostInput, 'media' | 'media_ids' | 'alt_texts'>;

const fieldsOf = (part: ThreadPart): Exclude<ThreadPart, string> =>
  typeof part === 'string' ? {} : part;

/** The file fields of a request beside its thread and in it, with their JSON pointers. */
export const fileFields = (input: PostInput): (FileFields & { readonly at: string })[] => [
  Object.assign({ at: '' }, input),
  ...(input.thread ?? []).map((part, index) =>
    Object.assign({ at: `/thread/${index}` }, fieldsOf(part)),
  ),
];

/** The ordered lists of files in a request, with their JSON pointers. */
export const mediaLists = (input: PostInput) => [
  ...fileFields(input).map(({ at, media }) => ({ at: `${at}/media`, items: media ?? [] })),
  ...Object.entries(input.channel_media ?? {}).map(([id, items]) => ({
    at: `/channel_media/${id}`,
    items,
  })),
];

const mostUrls = 10;

/** A file counts each time, since answers and events show it as often, with up to 5,000 characters of alt text. */
const mostFiles = 200;

/** The URLs of a request: those of `media_urls`, then those of its lists. */
export function givenUrls(input: PostInput): GivenUrl[] {
  assertOneWay(input);
  assertFew(input);
  const listed = mediaLists(input).flatMap(({ items, at }) =>
    items.flatMap(({ media_id: mediaId, url }, index) => {
      if ((mediaId === undefined) === (url === undefined)) {
        throw invalid(
          `${at}/${index}`,
          `must have either media_id or url${url === undefined ? '' : ', not both'}`,
        );
      }

      const first = items.findIndex((one) => one.media_id === mediaId && one.url === url);
      if (first < index) {
        const message = `names the same file as ${at}/${first}: send each file once`;
        throw invalid(`${at}/${index}`, message);
      }

      return url === undefined ? [] : [{ url, path: `${at}/${index}/url` }];
    }),
  );
  const ofUrls = (input.media_urls ?? []).map((url, index) => ({
    url,
    path: `/media_urls/${index}`,
  }));
  const urls = [...ofUrls, ...listed];
  const local = urls.find(({ url }) => !URL.canParse(url) || /^(?:data|file):/iv.test(url));
  if (local) {
    const message = 'must be an https link; upload a file of your own with POST /media';
    const details = [{ path: local.path, message }];
    throw new AppError('invalid_media_url', `${local.path} ${message}.`, { details });
  }

  const tooMany = urls[mostUrls];
  if (tooMany) {
    const message = `is one URL too many: a request downloads at most ${mostUrls} files, and this one names ${urls.length}`;
    throw invalid(tooMany.path, message);
  }

  return urls;
}

function assertOneWay(input: PostInput): void {
  const [beside = [], first = [], ...later] = fileFields(input).map((given) =>
    (['media', 'media_ids', 'alt_texts'] as const).flatMap((name) =>
      given[name] === undefined ? [] : [`${given.at}/${name}`],
    ),
  );
  const urls = input.media_urls === undefined ? [] : ['/media_urls'];
  for (const names of [[...beside, ...urls, ...first], ...later]) {
    const list = names.find((name) => name.endsWith('/media'));
    const other = names.find((name) => name !== list);
    if (list !== undefined && other !== undefined) {
      throw invalid(list, `and ${other} give the files of the same part: send one of them`);
    }
  }

  if (beside.length > 0 && first.length > 0) {
    const message = 'are given both beside the thread and in its first part: send one of them';
    throw wrongValue('/thread/0', message, `The files of the first part ${message}.`);
  }
}

function assertFew(input: PostInput): void {
  const lists = [
    ...mediaLists(input).map(({ items }) => items),
    ...fileFields(input).map(({ media_ids: ids }) => ids ?? []),
  ];
  const count = lists.reduce((sum, { length }) => sum + length, 0);
  if (count > mostFiles) {
    const message = `A post may have ${mostFiles} files in all its parts and channels; these are ${count}.`;
    throw new AppError('invalid_request', message, {
      details: [{ path: '', message, limit: mostFiles, actual: count }],
    });
  }
}

const invalid = (path: string, message: string): AppError =>
  wrongValue(path, message, `${path} ${message}.`);

/** The ids of downloaded files, by URL. */
export type Downloads = ReadonlyMap<string, string>;

export const noDownloads: Downloads = new Map();

/** @param files In the order of the URLs without repetitions. */
export function downloadsOf(
  urls: readonly GivenUrl[],
  files: readonly { readonly id: string }[],
): Downloads {
  const unique = [...new Set(urls.map(({ url }) => url))];
  return new Map(files.map(({ id }, index) => [unique[index] ?? '', id]));
}

/** Takes each URL for the id of its file: before a download this says which parts and channels will have files. */
export const beforeDownload = (urls: readonly GivenUrl[]): Downloads =>
  new Map(urls.map(({ url }) => [url, url]));

/** Files of the library and downloaded ones, in order; without those whose download is to come. */
const found = (items: readonly MediaItem[], downloads: Downloads) =>
  items.flatMap(({ media_id: id, url = '', alt_text: altText = null }, index) => {
    const mediaId = id ?? downloads.get(url);
    return mediaId === undefined ? [] : [{ mediaId, altText, index }];
  });

export const channelFilesOf = (
  channelMedia: NonNullable<PostInput['channel_media']>,
  downloads: Downloads,
): Record<string, ChannelFile[]> =>
  Object.fromEntries(
    Object.entries(channelMedia).map(([channelId, items]) => {
      const files = found(items, downloads).map(
        ({ mediaId, altText }) => [mediaId, { media_id: mediaId, alt_text: altText }] as const,
      );
      return [channelId, [...new Map(files).values()]];
    }),
  );

/** A file that a request names, or that a post has, with its JSON pointer. */
export type NamedFile = {
  readonly mediaId: string;
  readonly path: string;
  /** The post has it, and the request leaves it unchanged. */
  readonly stored?: PostFile | undefined;
};

export type FileInPost = NamedFile & PlacedFile;

/** The files and alt texts that a request gives to a part; undefined leaves those of a stored post unchanged. */
type GivenPart = {
  readonly part: number;
  readonly at: string;
  readonly files: readonly FileInPost[] | undefined;
  readonly altTexts: Readonly<Record<string, string>> | undefined;
};

function givenPart(
  { media, media_ids: ids, alt_texts: altTexts }: FileFields,
  part: number,
  at: string,
  downloads: Downloads,
): GivenPart {
  const field = media === undefined ? 'media_ids' : 'media';
  const items = media === undefined ? ids && ids.map((id) => ({ media_id: id })) : media;
  const files = found(items ?? [], downloads).map(({ mediaId, altText, index }) => ({
    mediaId,
    part,
    fromUrl: false,
    altText: altText ?? altTexts?.[mediaId] ?? null,
    path: `${at}/${field}/${index}`,
  }));
  return {
    part,
    at,
    files: items === undefined ? undefined : files,
    altTexts: media === undefined ? (altTexts === null ? {} : altTexts) : {},
  };
}

/** The first part, and the later ones of a thread, which replace all files of later parts. */
function givenParts(input: PostInput, downloads: Downloads): [GivenPart, ...GivenPart[]] {
  const [first = {}, ...later] = (input.thread ?? []).map(fieldsOf);
  const isInThread = [first.media, first.media_ids, first.alt_texts].some(Boolean);
  return [
    isInThread ? givenPart(first, 0, '/thread/0', downloads) : givenPart(input, 0, '', downloads),
    ...later.map((part, index) =>
      givenPart({ media_ids: [], ...part }, index + 1, `/thread/${index + 1}`, downloads),
    ),
  ];
}

/**
 * The files of a post after a request, in order, each once in a part. `media_ids` replaces the files of the first part
 * that came by id, `media_urls` those that came by URL, `media` both, and `thread` those of the later parts. Files that
 * stay on the first part keep their alt texts unless `alt_texts` is sent.
 *
 * @param rows The files that the post has, none if it is new. Deleted ones keep their position.
 */
export function placeFiles(
  input: PostInput,
  downloads: Downloads,
  rows: readonly PostFile[] = [],
): FileInPost[] {
  const [first, ...later] = givenParts(input, downloads);
  const hasList = [input.media, fieldsOf(input.thread?.[0] ?? '').media].some(
    (list) => list !== undefined,
  );
  const urls = input.media_urls ?? (hasList ? [] : undefined);
  const ofUrls = [...new Set(urls)].flatMap((url, index) => {
    const mediaId = downloads.get(url);
    const path = `/media_urls/${index}`;
    return mediaId === undefined ? [] : [{ mediaId, part: 0, fromUrl: true, altText: null, path }];
  });
  const files: FileInPost[] = [
    ...(first.files ?? storedFiles(rows, (row) => row.part === 0 && !row.fromUrl)),
    ...(urls ? ofUrls : storedFiles(rows, (row) => row.part === 0 && row.fromUrl)),
    ...later.flatMap((part) => part.files ?? []),
    ...(input.thread === undefined ? storedFiles(rows, (row) => row.part > 0) : []),
  ];
  const stored = rows.flatMap(({ part, mediaId, altText }) =>
    part === 0 && altText !== null ? [[mediaId, altText] as const] : [],
  );
  const altTexts = first.altTexts ?? Object.fromEntries(stored);
  const seen = new Set<string>();
  const placed = files.flatMap((file) => {
    const key = `${file.part} ${file.mediaId}`;
    const isRepeated = seen.has(key);
    seen.add(key);
    const altText = file.altText ?? (file.part === 0 ? (altTexts[file.mediaId] ?? null) : null);
    return isRepeated ? [] : [{ ...file, altText }];
  });
  assertOwnAltTexts([first, ...later], placed);
  return placed;
}

/** Stored files as an edit leaves them, at the place where a request would name them. */
function storedFiles(rows: readonly PostFile[], which: (row: PostFile) => boolean): FileInPost[] {
  const kept = rows.filter(which);
  return kept.map((stored) => {
    const { mediaId, part, fromUrl } = stored;
    const field = fromUrl ? '/media_urls' : part > 0 ? `/thread/${part}/media_ids` : '/media_ids';
    const index = kept.filter((one) => one.part === part).indexOf(stored);
    const altText = part > 0 ? stored.altText : null;
    return { mediaId, part, fromUrl, altText, path: `${field}/${index}`, stored };
  });
}

function assertOwnAltTexts(given: readonly GivenPart[], placed: readonly PlacedFile[]): void {
  const faults = given.flatMap(({ part, altTexts = {}, at }) => {
    const own = new Set(placed.flatMap((file) => (file.part === part ? [file.mediaId] : [])));
    const stray = Object.keys(altTexts).filter((id) => !own.has(id));
    return stray.map((id) => {
      const other = placed.find((file) => file.mediaId === id && file.part > 0)?.part;
      const isOfPost = part === 0 && other === undefined;
      const where = isOfPost ? "the post's files" : `the files of part ${part + 1}`;
      const next =
        other === undefined
          ? ''
          : ` It is in part ${other + 1}: send \`thread\` with its alt text there.`;
      return {
        path: `${at}/alt_texts/${pointerToken(id)}`,
        message: `alt_texts names ${id}, which is not among ${where}.${next}`,
      };
    });
  });
  if (faults.length > 0) {
    const sentences = faults.map(({ message }) => message).join(' ');
    throw new AppError('invalid_media_ids', sentences, { details: faults });
  }
}
