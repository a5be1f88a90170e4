import { AppError, type ErrorDetail } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { longestTexts, type EditPostBody } from './schemas.ts';

/**
 * Refuses texts that are blank, and texts that no database can hold.
 *
 * @throws AppError `empty_body`, or `invalid_request` for too many characters and for those that cannot be stored.
 */
export function checkTexts(request: EditPostBody): void {
  const texts = textsOf(request);
  mustBeShortEnough(texts.map(([, text]) => text));
  const blank = texts.filter(([, text]) => text.trim() === '');
  if (blank.length > 0) {
    throw new AppError('empty_body', `${paths(blank)} must not be blank.`, {
      details: blank.map(([path]) => ({ path, message: 'must not be blank' })),
    });
  }

  const title = request.video?.title ?? '';
  const broken = [...texts, ['/video/title', title] as const].filter(([, text]) => !isText(text));
  if (broken.length > 0) {
    throw new AppError(
      'invalid_request',
      `${paths(broken)} must be text: no NUL, no half of a surrogate pair.`,
      { details: broken.map(([path]) => ({ path, message: 'is not text' })) },
    );
  }
}

type Content = {
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly overrides: Readonly<Record<string, string>>;
};

/**
 * @throws AppError `empty_body` for a post with neither text nor media, `invalid_request` for one with too much text.
 */
export function mustSaySomething({ body, thread, overrides }: Content, mediaCount: number): void {
  const texts = [...(body === null ? [] : [body]), ...(thread ?? []), ...Object.values(overrides)];
  mustBeShortEnough(texts);
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

const paths = (located: readonly Located[]): string => located.map(([path]) => path).join(', ');

/** @throws AppError `invalid_request` */
function mustBeShortEnough(texts: readonly string[]): void {
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
