import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import type { PostView } from '../../domain/post-view.ts';
import type { Options } from '../../networks/content-rules.ts';
import { bytesOfOptions } from './channel-options.ts';
import { givenFiles, threadTexts } from './given-files.ts';
import { longestTexts, type CreatePostBody, type EditPostBody } from './schemas.ts';

/** The content of a post in a request or in the database, without its files. */
export type PostContent = Pick<PostView, 'body' | 'thread' | 'video'> & {
  /** Channels' own texts, by channel id. */
  readonly overrides: Readonly<Record<string, string>>;
  /** By channel id. */
  readonly options: Readonly<Record<string, Options>>;
};

const empty: PostContent = { body: null, thread: null, overrides: {}, options: {}, video: null };

export const postContentOf = (request: CreatePostBody): PostContent =>
  editedContent(empty, request);

/** Merges the sent fields into the stored content. Null clears a field. */
export const editedContent = (stored: PostContent, request: EditPostBody): PostContent => ({
  body: request.body ?? stored.body,
  thread:
    request.thread === undefined ? stored.thread : request.thread && threadTexts(request.thread),
  overrides:
    request.channel_bodies === undefined ? stored.overrides : (request.channel_bodies ?? {}),
  options:
    request.channel_options === undefined
      ? stored.options
      : withoutEmpty(request.channel_options ?? {}),
  video: request.video === undefined ? stored.video : request.video,
});

/** Empty options are stored as none. */
const withoutEmpty = (options: PostContent['options']): PostContent['options'] =>
  Object.fromEntries(Object.entries(options).filter(([, own]) => Object.keys(own).length > 0));

/** Size of the texts in UTF-8 bytes. */
export const contentBytes = (texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);

/** Size of a new post's texts and options, including the channels' own. */
export const textBytes = ({
  body,
  thread,
  overrides,
  options,
}: Omit<PostContent, 'video'>): number =>
  Object.values(options).reduce(
    (sum, own) => sum + bytesOfOptions(own),
    contentBytes([body, ...(thread ?? []), ...Object.values(overrides)]),
  );

/**
 * Refuses blank texts and alt texts, and texts that PostgreSQL cannot store.
 *
 * @throws AppError `empty_body`; `invalid_request` for too many characters, unsupported characters, a blank alt text,
 *   or files of the first part that are given twice.
 */
export function assertTexts(request: EditPostBody): void {
  const texts = textsOf(request);
  const altTexts = altTextsOf(request);
  assertShortEnough([...texts, ...altTexts].map(([, text]) => text));
  const blank = texts.filter(([, text]) => text.trim() === '');
  if (blank.length > 0) {
    throw new AppError('empty_body', `${pathsOf(blank)} must not be blank.`, {
      details: blank.map(([path]) => ({ path, message: 'must not be blank' })),
    });
  }

  const title = request.video?.title ?? '';
  const all = [...texts, ...altTexts, ['/video/title', title] as const];
  const noText = 'must be text: no NUL, no half of a surrogate pair';
  refuse(
    all.filter(([, text]) => !isText(text)),
    noText,
  );
  refuse(
    altTexts.filter(([, text]) => text.trim() === ''),
    'must not be blank',
  );
}

/** @throws AppError `invalid_request` that names every faulty text. */
function refuse(wrong: readonly Located[], message: string): void {
  if (wrong.length > 0) {
    throw new AppError('invalid_request', `${pathsOf(wrong)} ${message}.`, {
      details: wrong.map(([path]) => ({ path, message })),
    });
  }
}

/** @throws AppError `empty_body` for a post without text and media, `invalid_request` for one with too much text. */
export function assertNotEmpty(
  { body, thread, overrides }: Pick<PostContent, 'body' | 'thread' | 'overrides'>,
  mediaCount: number,
): void {
  const texts = [...(body === null ? [] : [body]), ...(thread ?? []), ...Object.values(overrides)];
  assertShortEnough(texts);
  const hasText = body !== null || thread !== null || Object.keys(overrides).length > 0;
  if (!hasText && mediaCount === 0) {
    throw new AppError('empty_body', 'A post needs a body, a thread, channel_bodies or media.');
  }
}

type Located = readonly [path: ErrorDetail['path'], text: string];

function textsOf(request: EditPostBody): Located[] {
  const { body, thread, channel_bodies: overrides } = request;
  return [
    ...(body === undefined ? [] : [['/body', body] as const]),
    ...(thread ?? []).map((part, index) =>
      typeof part === 'string'
        ? ([`/thread/${index}`, part] as const)
        : ([`/thread/${index}/text`, part.text] as const),
    ),
    ...Object.entries(overrides ?? {}).map(
      ([id, text]) => [`/channel_bodies/${id}`, text] as const,
    ),
  ];
}

const altTextsOf = (request: EditPostBody): Located[] =>
  givenFiles(request).flatMap(({ altTexts, at }) =>
    Object.entries(altTexts ?? {}).map(([id, text]) => [`${at}/alt_texts/${id}`, text] as const),
  );

const pathsOf = (located: readonly Located[]): string => located.map(([path]) => path).join(', ');

/** @throws AppError `invalid_request` */
function assertShortEnough(texts: readonly string[]): void {
  const units = texts.reduce((sum, { length }) => sum + length, 0);
  // Counts code points only when the length may exceed the limit.
  const length = units > longestTexts ? texts.reduce((sum, text) => sum + [...text].length, 0) : 0;
  if (length > longestTexts) {
    throw new AppError(
      'invalid_request',
      `All texts of a post together may have ${longestTexts} characters; these have ${length}.`,
    );
  }
}
