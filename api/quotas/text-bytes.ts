import type { PostContent } from '../posts/post-content.ts';

/** How many bytes the texts take, in UTF-8. */
export const bytesOf = (texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);

/** Of a new post, its channels' own texts among them. */
export const textBytes = ({ body, thread, overrides }: PostContent): number =>
  bytesOf([body, ...(thread ?? []), ...Object.values(overrides)]);
