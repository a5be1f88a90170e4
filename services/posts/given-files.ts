import { AppError, wrongValue } from '../../domain/errors.ts';
import type { ChannelFile } from '../../domain/media.ts';
import type { GivenUrl } from '../media/download-media.ts';

/** A file in an ordered list: one of the library, or a URL to download. */
export type MediaItem = {
  readonly mediaId?: string | undefined;
  readonly url?: string | undefined;
  /** For this post only; null or undefined uses the file's alt text. */
  readonly altText?: string | null | undefined;
};

/** A part of a thread with files of its own. */
type PartWithFiles = {
  readonly text?: string | undefined;
  /** Instead of `mediaIds` and `altTexts`. */
  readonly media?: readonly MediaItem[] | undefined;
  readonly mediaIds?: readonly string[] | undefined;
  readonly altTexts?: Readonly<Record<string, string>> | undefined;
};

/** The fields of a request that name files, and the thread whose parts have some. */
export type FilesInput = {
  readonly thread?: readonly (string | PartWithFiles)[] | null | undefined;
  readonly mediaIds?: readonly string[] | null | undefined;
  readonly altTexts?: Readonly<Record<string, string>> | null | undefined;
  readonly mediaUrls?: readonly string[] | undefined;
  /** Ids of the files of `mediaUrls`: see {@link withDownloads}. */
  readonly downloadedIds?: readonly string[] | undefined;
  /** Instead of `mediaIds`, `altTexts` and `mediaUrls`. */
  readonly media?: readonly MediaItem[] | null | undefined;
  /** By channel id: the files there instead of the post's. */
  readonly channelMedia?: Readonly<Record<string, readonly MediaItem[]>> | null | undefined;
};

/** The ordered lists of files in a request, with their JSON pointers. */
export const mediaLists = ({ media, thread, channelMedia }: FilesInput) => [
  { at: '/media', items: media ?? [] },
  ...(thread ?? []).map((part, index) => ({
    at: `/thread/${index}/media`,
    items: filesOf(part).media ?? [],
  })),
  ...Object.entries(channelMedia ?? {}).map(([id, items]) => ({
    at: `/channel_media/${id}`,
    items,
  })),
];

/** The most files that a request may download. */
const mostUrls = 10;

/**
 * The URLs of a request: those of `media_urls`, then those of its lists.
 *
 * @throws AppError `invalid_request` when files of one part are given in two ways, a list's item is neither a file nor a
 *   URL or both, a list names a file twice, or there are too many URLs.
 */
export function givenUrls(input: FilesInput): GivenUrl[] {
  assertOneWay(input);
  const listed = mediaLists(input).flatMap(({ items, at }) =>
    items.flatMap(({ mediaId, url }, index) => {
      if ((mediaId === undefined) === (url === undefined)) {
        throw invalid(
          `${at}/${index}`,
          `must have either media_id or url${url === undefined ? '' : ', not both'}`,
        );
      }

      const first = items.findIndex((one) => one.mediaId === mediaId && one.url === url);
      if (first < index) {
        const message = `names the same file as ${at}/${first}: send each file once`;
        throw invalid(`${at}/${index}`, message);
      }

      return url === undefined ? [] : [{ url, path: `${at}/${index}/url` }];
    }),
  );
  const ofUrls = (input.mediaUrls ?? []).map((url, index) => ({
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

/** @throws AppError `invalid_request` for a part with both `media` and one of the older fields. */
function assertOneWay({ media, mediaIds, altTexts, mediaUrls, thread }: FilesInput): void {
  const older = { media_ids: mediaIds, alt_texts: altTexts, media_urls: mediaUrls };
  const [first = [], ...later] = (thread ?? []).map(filesOf).map((part, index) => {
    const fields = { media: part.media, media_ids: part.mediaIds, alt_texts: part.altTexts };
    return namesIn(fields, `/thread/${index}`);
  });
  for (const names of [[...namesIn({ media, ...older }, ''), ...first], ...later]) {
    const list = names.find((name) => name.endsWith('/media'));
    const other = names.find((name) => name !== list);
    if (list !== undefined && other !== undefined) {
      throw invalid(list, `and ${other} give the files of the same part: send one of them`);
    }
  }
}

const namesIn = (given: Readonly<Record<string, unknown>>, at: string): string[] =>
  Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`${at}/${name}`]));

const invalid = (path: string, message: string): AppError =>
  new AppError('invalid_request', `${path} ${message}.`, { details: [{ path, message }] });

/**
 * Replaces the lists of a request by ids and alt texts, and its URLs by the ids of their files.
 *
 * @param urls From {@link givenUrls}.
 * @param files The downloaded files, in the order of the URLs without repetitions. With none, URLs are left out.
 */
export function withDownloads<I extends FilesInput>(
  input: I,
  urls: readonly GivenUrl[],
  files: readonly { readonly id: string }[],
): I {
  const unique = [...new Set(urls.map(({ url }) => url))];
  const byUrl = new Map(files.map(({ id }, index) => [unique[index] ?? '', id]));
  const found = (items: readonly MediaItem[]): MediaItem[] =>
    items.flatMap(({ mediaId, url = '', altText }) => {
      const id = mediaId ?? byUrl.get(url);
      return id === undefined ? [] : [{ mediaId: id, altText }];
    });
  const named = ({ media }: Pick<FilesInput, 'media'>) => {
    const items = found(media ?? []).map(
      ({ mediaId = '', altText }) => [mediaId, altText] as const,
    );
    const texts = items.filter(([, altText]) => typeof altText === 'string');
    const fields = { mediaIds: items.map(([id]) => id), altTexts: Object.fromEntries(texts) };
    return media === undefined ? {} : fields;
  };
  const { media, thread, channelMedia, mediaUrls = [] } = input;
  const [first = ''] = thread ?? [];
  const hasList = media !== undefined || filesOf(first).media !== undefined;
  return {
    ...input,
    ...named(input),
    ...(hasList ? { mediaUrls: [] } : {}),
    downloadedIds: [...new Set(mediaUrls)].flatMap((url) => byUrl.get(url) ?? []),
    thread:
      thread &&
      thread.map((part) =>
        typeof part === 'string' ? part : Object.assign({}, part, named(part)),
      ),
    channelMedia:
      channelMedia &&
      Object.fromEntries(Object.entries(channelMedia).map(([id, items]) => [id, found(items)])),
  };
}

/** The channels' own files, without repetitions and files that are still to be downloaded. */
export const channelFilesOf = (
  channelMedia: Readonly<Record<string, readonly MediaItem[]>>,
): Record<string, ChannelFile[]> =>
  Object.fromEntries(
    Object.entries(channelMedia).map(([channelId, items]) => {
      const files = items.flatMap(({ mediaId, altText = null }) =>
        mediaId === undefined ? [] : [[mediaId, { media_id: mediaId, alt_text: altText }] as const],
      );
      return [channelId, [...new Map(files).values()]];
    }),
  );

/** The files of one part, as the request gives them. */
export type GivenFiles = {
  /** From 0. */
  readonly part: number;
  /** Undefined: not sent. */
  readonly ids: readonly string[] | undefined;
  /** By media id; undefined: not sent. */
  readonly altTexts: Readonly<Record<string, string>> | undefined;
  /** JSON pointer to the part in the request: empty, or `/thread/1`. */
  readonly at: string;
  /** The field with the ids. */
  readonly field: 'media' | 'media_ids';
  /** Ids of the files of `media_urls`, which follow. */
  readonly downloadedIds?: readonly string[] | undefined;
};

/**
 * Returns the files that a request names by id. The first part is always included; later parts only when a thread was
 * sent, which replaces all of their files.
 *
 * @throws AppError `invalid_request` when the files of the first part are given both beside the thread and in it.
 */
export function givenFiles(input: FilesInput): [GivenFiles, ...GivenFiles[]] {
  const { thread, mediaIds: ids, altTexts, downloadedIds } = input;
  const [first = {}, ...later] = (thread ?? []).map(filesOf);
  const isInThread = first.mediaIds !== undefined || first.altTexts !== undefined;
  if (isInThread && (ids !== undefined || altTexts !== undefined)) {
    const message = 'are given both beside the thread and in its first part: send one of them';
    throw wrongValue('/thread/0', message, `The files of the first part ${message}.`);
  }

  return [
    isInThread
      ? {
          part: 0,
          ids: first.mediaIds,
          altTexts: first.altTexts,
          at: '/thread/0',
          field: fieldOf(first),
          downloadedIds,
        }
      : {
          part: 0,
          ids: orEmpty(ids, []),
          altTexts: orEmpty(altTexts, {}),
          at: '',
          field: fieldOf(input),
          downloadedIds,
        },
    ...later.map(({ mediaIds = [], altTexts: texts = {}, media }, index) => ({
      part: index + 1,
      ids: mediaIds,
      altTexts: texts,
      at: `/thread/${index + 1}`,
      field: fieldOf({ media }),
    })),
  ];
}

const fieldOf = ({ media }: Pick<FilesInput, 'media'>): GivenFiles['field'] =>
  media === undefined ? 'media_ids' : 'media';

type Part = NonNullable<FilesInput['thread']>[number];

const filesOf = (part: Part): Partial<Exclude<Part, string>> =>
  typeof part === 'string' ? {} : part;

/** The parts that have files in the request. */
export const partsWithFiles = ({ thread, ...ofFirst }: FilesInput): ReadonlySet<number> =>
  new Set(
    [ofFirst, ...(thread ?? []).map(filesOf)].flatMap((given: FilesInput, index) => {
      const { media, mediaIds, mediaUrls } = given;
      const files = [media, mediaIds, mediaUrls].flatMap(
        (list: readonly unknown[] | null | undefined) => list ?? [],
      );
      return files.length > 0 ? [Math.max(0, index - 1)] : [];
    }),
  );

export const countNamed = (given: readonly GivenFiles[]): number =>
  given.reduce((sum, { ids = [] }) => sum + ids.length, 0);

/** Null means empty. */
const orEmpty = <T>(value: T | null | undefined, none: T): T | undefined =>
  value === null ? none : value;
