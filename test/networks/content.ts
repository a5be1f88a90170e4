import type { ExecutionContext } from 'ava';
import type { Content, AttachmentFacts, Rules } from '../../networks/content-rules.ts';
import type { Json } from '../../domain/json-schema.ts';

export const family = '👩‍👩‍👧‍👦';

export type Given = Partial<Omit<Content, 'media'>> & {
  /** The files of the first part. */
  readonly media?: readonly AttachmentFacts[];
  /** The files of the second part and later ones. */
  readonly later?: Content['media'];
};

/** The content for a channel, with only the given fields. */
export const contentOf = ({ media = [], later = [], ...given }: Given): Content => ({
  texts: [],
  video: null,
  options: {},
  ...given,
  media: [media, ...later],
});

export const textOf = (...texts: readonly string[]): Content => contentOf({ texts });

export const filesOf = (...media: readonly AttachmentFacts[]): Content =>
  contentOf({ texts: ['Look'], media });

/** A small image that every network with images accepts. */
export const image = (given: Partial<AttachmentFacts> = {}): AttachmentFacts => ({
  name: 'photo.jpg',
  type: 'image/jpeg',
  sizeBytes: 200_000,
  width: 1200,
  height: 800,
  durationMs: null,
  altText: null,
  ...given,
});

/** A small video that every network accepts. */
export const video = (given: Partial<AttachmentFacts> = {}): AttachmentFacts => ({
  name: 'clip.mp4',
  type: 'video/mp4',
  sizeBytes: 2_000_000,
  width: 1280,
  height: 720,
  durationMs: 10_000,
  altText: null,
  ...given,
});

export const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

/** Assertions that rules accept a content, or that they refuse it with one given error. */
export function against(rules: Rules, settings: Json = {}) {
  const errorsOf = (content: Content) => rules.validate(content, settings).errors;
  return {
    takes: (t: ExecutionContext, content: Content) => t.deepEqual(errorsOf(content), []),
    refuses: (t: ExecutionContext, content: Content, ...errors: readonly string[]) =>
      t.deepEqual(errorsOf(content), errors),
    measures: (t: ExecutionContext, text: string, length: number) =>
      t.is(rules.validate(textOf(text), settings).texts[0]?.length, length, JSON.stringify(text)),
    warns: (t: ExecutionContext, content: Content, ...warnings: readonly string[]) =>
      t.deepEqual(rules.validate(content, settings).warnings, warnings),
  };
}
