import type { AttachmentFacts } from '../content-rules.ts';
import { countOf, list } from './amounts.ts';
import { kindOf } from './files.ts';
import type { FileKind, Limits } from './limits.ts';

/**
 * Problems of the files as a whole: too many of a kind, too few, or a mixture of kinds. Files of an unknown kind are
 * ignored, because the check of types refuses them.
 */
export function mixtureFaults(
  media: readonly AttachmentFacts[],
  { name: network, files: kinds }: Pick<Limits, 'name' | 'files'>,
): string[] {
  const counts = kinds.map((kind) => ({
    ...kind,
    count: media.filter((file) => kindOf(file, kinds) === kind).length,
  }));
  const present = counts.filter(({ count }) => count > 0);
  if (
    present.length < 2 &&
    counts.every(({ count, max, min = 0 }) => count >= min && count <= max)
  ) {
    return [];
  }

  const taken = kinds.filter(({ max }) => max > 0).map(amountOf);
  const limit = taken.join(', or ') || 'no files';
  const sentence = `${network} takes ${limit} in a post, and there ${actualOf(present)}.`;
  return [sentence.charAt(0).toUpperCase() + sentence.slice(1)];
}

function amountOf({ one: name, max, min = 0 }: FileKind): string {
  if (min === max) {
    return `exactly ${countOf(max, name)}`;
  }

  return max > 1 ? `up to ${max} ${name}s` : `1 ${name}`;
}

/** The files in words: `is 1 video`, `are 2 images and 1 video`, `is none`. */
function actualOf(present: readonly { readonly one: string; readonly count: number }[]): string {
  const total = present.reduce((sum, { count }) => sum + count, 0);
  const presentFiles = list(present.map(({ one: name, count }) => countOf(count, name)));
  return `${total < 2 ? 'is' : 'are'} ${presentFiles || 'none'}`;
}
