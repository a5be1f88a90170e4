import { wholeCharacters } from '../../domain/texts.ts';
import { isBlank } from '../validation/texts.ts';

/** In UTF-16 code units, which is how YouTube's own form counts. */
export const maxTitleLength = 100;

export type Title = {
  readonly text: string;
  /** Whether it comes from the beginning of the text, because the post has none. */
  readonly isDerived: boolean;
};

/**
 * The title that a video gets: the one that was given, or else the first line of the text, cut to what fits. Null when
 * there is neither: YouTube takes no video without a title.
 */
export function titleOf(text: string, choice: { readonly title?: string } | null): Title | null {
  const given = choice?.title ?? '';
  if (!isBlank(given)) {
    return { text: given, isDerived: false };
  }

  const [firstLine = ''] = text.trimStart().split(/[\n\r\u2028\u2029]/u, 1);
  return isBlank(firstLine) ? null : { text: shortened(firstLine.trimEnd()), isDerived: true };
}

/** Cuts after a word where one ends in the second half, otherwise after a character, and never through one. */
function shortened(line: string): string {
  if (line.length <= maxTitleLength) {
    return line;
  }

  const room = maxTitleLength - '…'.length;
  // Where not even one character fits, whole code points.
  const cut = wholeCharacters(line, room) || line.slice(0, room).replace(/[\uD800-\uDBFF]$/, '');
  const lastSpace = cut.search(/\s\S*$/);
  const endsInWord = /\S/.test(line.charAt(cut.length));
  const words = endsInWord && lastSpace >= maxTitleLength / 2 ? cut.slice(0, lastSpace) : cut;
  return `${words.trimEnd()}…`;
}
