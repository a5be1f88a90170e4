import { AppError } from '../../domain/errors.ts';
import type { EditPostBody } from './schemas.ts';

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
};

/** The texts of a request's thread. */
export const threadTexts = (thread: NonNullable<EditPostBody['thread']>): string[] =>
  thread.map((part) => (typeof part === 'string' ? part : part.text));

/**
 * Returns the files that a request names by id. The first part is always included; later parts only when a thread was
 * sent, which replaces all of their files.
 *
 * @throws AppError `invalid_request` when the files of the first part are given both beside the thread and in it.
 */
export function givenFiles(request: EditPostBody): [GivenFiles, ...GivenFiles[]] {
  const { thread, media_ids: ids, alt_texts: altTexts } = request;
  const [first = {}, ...later] = (thread ?? []).map(filesOf);
  const isInThread = first.media_ids !== undefined || first.alt_texts !== undefined;
  if (isInThread && (ids !== undefined || altTexts !== undefined)) {
    const message = 'are given both beside the thread and in its first part: send one of them';
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

/** The number of files named by id. */
export const countNamed = (given: readonly GivenFiles[]): number =>
  given.reduce((sum, { ids = [] }) => sum + ids.length, 0);

/** Null means empty. */
const orEmpty = <T>(value: T | null | undefined, empty: T): T | undefined =>
  value === null ? empty : value;
