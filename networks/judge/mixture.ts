import type { MediaFacts } from '../content-rules.ts';
import { countOf, list } from './amounts.ts';

/** Files of which a post may have some, as long as it has no others. */
export type Group = {
  /** How messages call one of them: `image`. */
  readonly one: string;
  readonly max: number;
  readonly has: (file: MediaFacts) => boolean;
};

export const isVideo = ({ type }: MediaFacts): boolean => type.startsWith('video/');
export const hasType =
  (...types: readonly string[]) =>
  ({ type }: MediaFacts): boolean =>
    types.includes(type);
export const isImage = ({ type }: MediaFacts): boolean => type.startsWith('image/');

/**
 * What a network has against the files as a whole: too many of a group, or a mixture of groups. Empty: nothing.
 *
 * A file of no group is left out: what is wrong with it is its type.
 */
export function mixtureFaults(
  media: readonly MediaFacts[],
  groups: readonly Group[],
  network: string,
): string[] {
  const present = groups
    .map((group) => ({ ...group, count: media.filter(group.has).length }))
    .filter(({ count }) => count > 0);
  if (present.length < 2 && present.every(({ count, max }) => count <= max)) {
    return [];
  }

  const taken = groups
    .filter(({ max }) => max > 0)
    .map(({ one, max }) => (max > 1 ? `up to ${max} ${one}s` : `1 ${one}`));
  const limit = taken.join(', or ') || 'no files';
  const sentence = `${network} takes ${limit} in a post, and there ${actualOf(present)}.`;
  return [sentence.charAt(0).toUpperCase() + sentence.slice(1)];
}

/** What there is, in words: `is 1 video`, `are 2 images and 1 video`. */
function actualOf(present: readonly { readonly one: string; readonly count: number }[]): string {
  const total = present.reduce((sum, { count }) => sum + count, 0);
  return `${total === 1 ? 'is' : 'are'} ${list(present.map(({ one, count }) => countOf(count, one)))}`;
}
