import { AppError } from '../../domain/errors.ts';
import type { EditPostBody } from './schemas.ts';

/** What a request says of the files of one part of a thread, or of a single post. */
export type GivenFiles = {
  /** From 0. */
  readonly part: number;
  /** Undefined: nothing was said of them. */
  readonly ids: readonly string[] | undefined;
  /** By media id; undefined: nothing was said of them. */
  readonly altTexts: Readonly<Record<string, string>> | undefined;
  /** Where the request has them, as a JSON pointer: empty, or `/thread/1`. */
  readonly at: string;
};

/** The texts of a request's thread. */
export const threadTexts = (thread: NonNullable<EditPostBody['thread']>): string[] =>
  thread.map((part) => (typeof part === 'string' ? part : part.text));

/**
 * The files that a request names by id. The first part comes always; the later ones when a thread was sent, which says
 * all about them.
 *
 * @throws AppError `invalid_request` when the files of the first part are named twice: beside the thread and in it.
 */
export function givenFiles(request: EditPostBody): [GivenFiles, ...GivenFiles[]] {
  const { thread, media_ids: ids, alt_texts: altTexts } = request;
  const [first = {}, ...later] = (thread ?? []).map(filesOf);
  const isInThread = first.media_ids !== undefined || first.alt_texts !== undefined;
  if (isInThread && (ids !== undefined || altTexts !== undefined)) {
    const message = 'stand beside the thread and in its first part: send one of them';
    throw new AppError('invalid_request', `The files of the first part ${message}.`, {
      details: [{ path: '/thread/0', message }],
    });
  }

  return [
    isInThread
      ? { part: 0, ids: first.media_ids, altTexts: first.alt_texts, at: '/thread/0' }
      : { part: 0, ids: orEmpty(ids, []), altTexts: orEmpty(altTexts, {}), at: '' },
    ...later.map(({ media_ids: own = [], alt_texts: texts = {} }, index) => ({
      part: index + 1,
      ids: own,
      altTexts: texts,
      at: `/thread/${index + 1}`,
    })),
  ];
}

type Part = NonNullable<EditPostBody['thread']>[number];

const filesOf = (part: Part): Partial<Exclude<Part, string>> =>
  typeof part === 'string' ? {} : part;

/** How many files are named by id. */
export const countNamed = (given: readonly GivenFiles[]): number =>
  given.reduce((sum, { ids = [] }) => sum + ids.length, 0);

/** Null clears. */
const orEmpty = <T>(value: T | null | undefined, empty: T): T | undefined =>
  value === null ? empty : value;
