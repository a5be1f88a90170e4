import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import type { PostView } from '../../domain/post-view.ts';
import { longestTexts, type CreatePostBody, type EditPostBody } from './schemas.ts';

/** What a post says, as a request or the database has it. */
export type PostContent = Pick<PostView, 'body' | 'thread' | 'video'> & {
  /** By channel id. */
  readonly overrides: Readonly<Record<string, string>>;
};

const empty: PostContent = { body: null, thread: null, overrides: {}, video: null };

export const contentOf = (request: CreatePostBody): PostContent => editedContent(empty, request);

/** The stored content with the sent fields in the place of its own. Null clears a field. */
export const editedContent = (stored: PostContent, request: EditPostBody): PostContent => ({
  body: request.body ?? stored.body,
  thread: request.thread === undefined ? stored.thread : request.thread,
  overrides:
    request.channel_bodies === undefined ? stored.overrides : (request.channel_bodies ?? {}),
  video: request.video === undefined ? stored.video : request.video,
});

/** How many bytes the texts take, in UTF-8. */
export const bytesOf = (texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);

/** Of a new post, its channels' own texts among them. */
export const textBytes = ({ body, thread, overrides }: PostContent): number =>
  bytesOf([body, ...(thread ?? []), ...Object.values(overrides)]);

/**
 * Refuses texts that are blank, and texts that no database can hold.
 *
 * @throws AppError `empty_body`, or `invalid_request` for too many characters and for those that cannot be stored.
 */
export function assertTexts(request: EditPostBody): void {
  const texts = textsOf(request);
  assertShortEnough(texts.map(([, text]) => text));
  const blank = texts.filter(([, text]) => text.trim() === '');
  if (blank.length > 0) {
    throw new AppError('empty_body', `${pathsOf(blank)} must not be blank.`, {
      details: blank.map(([path]) => ({ path, message: 'must not be blank' })),
    });
  }

  const title = request.video?.title ?? '';
  const broken = [...texts, ['/video/title', title] as const].filter(([, text]) => !isText(text));
  if (broken.length > 0) {
    throw new AppError(
      'invalid_request',
      `${pathsOf(broken)} must be text: no NUL, no half of a surrogate pair.`,
      { details: broken.map(([path]) => ({ path, message: 'is not text' })) },
    );
  }
}

/**
 * @throws AppError `empty_body` for a post with neither text nor media, `invalid_request` for one with too much text.
 */
export function assertNotEmpty(
  { body, thread, overrides }: Omit<PostContent, 'video'>,
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

function textsOf({ body, thread, channel_bodies: overrides }: EditPostBody): Located[] {
  return [
    ...(body === undefined ? [] : [['/body', body] as const]),
    ...(thread ?? []).map((text, index) => [`/thread/${index}`, text] as const),
    ...Object.entries(overrides ?? {}).map(
      ([id, text]) => [`/channel_bodies/${id}`, text] as const,
    ),
  ];
}

const pathsOf = (located: readonly Located[]): string => located.map(([path]) => path).join(', ');

/** @throws AppError `invalid_request` */
function assertShortEnough(texts: readonly string[]): void {
  const units = texts.reduce((sum, { length }) => sum + length, 0);
  // Characters are counted only where it may matter.
  const length = units > longestTexts ? texts.reduce((sum, text) => sum + [...text].length, 0) : 0;
  if (length > longestTexts) {
    throw new AppError(
      'invalid_request',
      `All texts of a post together may have ${longestTexts} characters; these have ${length}.`,
    );
  }
}
