import { wholeCharacters } from '../../domain/texts.ts';
import { isBlank } from '../validation/texts.ts';

/** In UTF-16 code units, as in YouTube's own form. */
export const maxTitleLength = 100;

export type Title = {
  readonly text: string;
  /** Whether it is the beginning of the text, because the post has no title. */
  readonly isDerived: boolean;
};

/**
 * The title of a video: the given one, otherwise the first line of the text, shortened to fit. Null when there is
 * neither; YouTube requires a title.
 */
export function titleOf(text: string, choice: { readonly title?: string } | null): Title | null {
  const given = choice?.title ?? '';
  if (!isBlank(given)) {
    return { text: given, isDerived: false };
  }

  const [firstLine = ''] = text.trimStart().split(/[\n\r\u2028\u2029]/u, 1);
  return isBlank(firstLine) ? null : { text: shortened(firstLine.trimEnd()), isDerived: true };
}

/** Cuts after a word that ends in the second half, otherwise after a character, never inside one. */
function shortened(line: string): string {
  if (line.length <= maxTitleLength) {
    return line;
  }

  const room = maxTitleLength - '…'.length;
  // If not even one character fits, cut after a code point.
  const cut = wholeCharacters(line, room) || line.slice(0, room).replace(/[\uD800-\uDBFF]$/, '');
  const lastSpace = cut.search(/\s\S*$/);
  const endsInWord = /\S/.test(line.charAt(cut.length));
  const words = endsInWord && lastSpace >= maxTitleLength / 2 ? cut.slice(0, lastSpace) : cut;
  return `${words.trimEnd()}…`;
}
