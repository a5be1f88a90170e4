import { countGraphemes } from '../validation/texts.ts';

/** A server takes only a host with a dot for a link, and leaves out the punctuation that ends a sentence. */
const linkLike = /https?:\/\/[^\s/?#.]+(?:\.[^\s/?#.]+)+(?:[/?#]\S*)?/giu;
const punctuation = new Set('.,:;!?\'"»”’]}>');
const remoteMentions = /(?<![\w@/])(@\w+(?:[.-]+\w+)*)@[\p{L}\p{N}][\p{L}\p{N}.:-]*[\p{L}\p{N}]/gu;

/**
 * Length of a status the way a Mastodon server counts it.
 *
 * Unit: grapheme clusters, so a family emoji is 1. Every link counts the same whatever its length, and of
 * `@name@host` only `@name` counts.
 *
 * Gap: GoToSocial counts code points and the whole link, so a text of many emoji near its limit (5000) may pass
 * here and be refused there.
 *
 * Source: https://docs.joinmastodon.org/user/posting/#text
 */
export function statusLength(text: string, charactersReservedPerUrl: number): number {
  let links = 0;
  const counted = text
    .replaceAll(linkLike, (link) => {
      links += 1;
      return `x${link.slice(linkEnd(link))}`;
    })
    .replaceAll(remoteMentions, '$1');
  return countGraphemes(counted) + links * (charactersReservedPerUrl - 1);
}

/**
 * Where the link ends inside of what looks like one: a closing bracket belongs to it only after an opening one.
 *
 * Walks back by hand: a pattern for this takes quadratic time, and texts come from outside.
 */
function linkEnd(match: string): number {
  const isBalanced = match.includes('(');
  let end = match.length;
  for (; end > 0; end -= 1) {
    const last = match.charAt(end - 1);
    if (!punctuation.has(last) && (last !== ')' || isBalanced)) {
      break;
    }
  }

  return end;
}
