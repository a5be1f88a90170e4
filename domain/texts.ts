type Texts = {
  readonly body: string | null;
  /** Takes precedence over `body`. */
  readonly thread: readonly string[] | null;
};

/**
 * The texts that a channel gets, in order; empty for a post of media only.
 *
 * @param override The channel's own text, always a single post.
 * @param threads Whether the network supports threads; if not, the texts are joined by a blank line.
 */
export function textsForChannel(post: Texts, override: string | null, threads: boolean): string[] {
  if (override !== null) {
    return [override];
  }

  const texts = post.thread ?? (post.body === null ? [] : [post.body]);
  return threads || texts.length < 2 ? [...texts] : [texts.join('\n\n')];
}

/**
 * Everything that a channel publishes, in order: its texts, then the first comment where the network supports one.
 *
 * @param comments Whether we write comments on this network (`rules.comments`).
 */
export function withComment(
  texts: readonly string[],
  { first_comment: comment }: { readonly first_comment?: unknown },
  comments: boolean,
): readonly string[] {
  return comments && typeof comment === 'string' && comment.trim() !== ''
    ? [texts[0] ?? '', ...texts.slice(1), comment]
    : texts;
}

/** Whether a text can be stored: PostgreSQL accepts neither NUL nor a lone surrogate. */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/**
 * Cleans a handle, URL or secret that a person pasted: trims it and removes format characters (`Cf`), which no such
 * value contains. Bluesky's app, for example, puts direction marks around a handle.
 */
export const pasted = (text: string): string => text.replaceAll(/\p{Cf}/gv, '').trim();

/** More marks than any language puts on one letter; Unicode's stream-safe texts have at most 30. */
const mostMarks = 128;

/** Marks, and the two letters of half-width kana that NFKC turns into marks. */
const marks = /[\p{M}\uFF9E\uFF9F]+/gv;

/**
 * Normalises a text to a form of Unicode, and keeps at most 128 marks in a row.
 *
 * `String.normalize` alone orders marks in time quadratic to their number: half a million of them take a minute.
 */
export const normalized = (text: string, form: 'NFC' | 'NFKC'): string =>
  text
    .replaceAll(marks, (run) =>
      // A mark takes one or two UTF-16 units.
      run.length <= mostMarks
        ? run
        : Array.from(run.slice(0, mostMarks * 2))
            .slice(0, mostMarks)
            .join(''),
    )
    .normalize(form);

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The longest beginning of a text that fits a length and does not split a grapheme.
 *
 * @param lengthOf The unit; UTF-16 code units when left out.
 */
export function wholeCharacters(
  text: string,
  most: number,
  lengthOf: (part: string) => number = (part) => part.length,
): string {
  let end = 0;
  let length = 0;
  for (const { segment } of characters.segment(text)) {
    length += lengthOf(segment);
    if (length > most) {
      break;
    }

    end += segment.length;
  }

  return text.slice(0, end);
}
