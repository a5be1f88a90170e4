import type { ExecutionContext } from 'ava';
import type { Content, MediaFacts, Rules } from '../../networks/content-rules.ts';
import type { Json } from '../../domain/json-schema.ts';

export const family = '👩‍👩‍👧‍👦';

export type Given = Partial<Omit<Content, 'media'>> & {
  /** Of the first part. */
  readonly media?: readonly MediaFacts[];
  /** Of the second part and those after it. */
  readonly later?: Content['media'];
};

/** What a channel is to publish: nothing but what the test names. */
export const contentOf = ({ media = [], later = [], ...given }: Given): Content => ({
  texts: [],
  video: null,
  options: {},
  ...given,
  media: [media, ...later],
});

export const textOf = (...texts: readonly string[]): Content => contentOf({ texts });

export const filesOf = (...media: readonly MediaFacts[]): Content =>
  contentOf({ texts: ['Look'], media });

/** A small picture that every network with pictures takes. */
export const image = (given: Partial<MediaFacts> = {}): MediaFacts => ({
  name: 'photo.jpg',
  type: 'image/jpeg',
  sizeBytes: 200_000,
  width: 1200,
  height: 800,
  durationMs: null,
  altText: null,
  ...given,
});

/** A small film that every network takes. */
export const video = (given: Partial<MediaFacts> = {}): MediaFacts => ({
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

/** Shows that rules take something, and that they would say one given sentence about something else. */
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
