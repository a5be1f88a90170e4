type Texts = {
  readonly body: string | null;
  /** Takes precedence over `body`. */
  readonly thread: readonly string[] | null;
};

/**
 * The texts that a channel gets, in order. None for a post of media only.
 *
 * @param override The channel's own text, which is one single post.
 * @param threads Whether the network has threads; where not, the texts are joined by a blank line.
 */
export function textsForChannel(post: Texts, override: string | null, threads: boolean): string[] {
  if (override !== null) {
    return [override];
  }

  const texts = post.thread ?? (post.body === null ? [] : [post.body]);
  return threads || texts.length < 2 ? [...texts] : [texts.join('\n\n')];
}

/**
 * All that goes out on a channel, in order: its texts, and below them the first comment where its network has comments.
 *
 * @param comments Whether the network's posts have comments that we write (`rules.comments`).
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

/** Whether every program can take it as text: PostgreSQL holds no NUL, and half a surrogate pair is no character. */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/**
 * A handle, an address or a secret that a person pasted, without the spaces around it and without invisible characters:
 * Bluesky's app, for one, puts marks of direction around a handle. No such value has format characters (`Cf`).
 */
export const pasted = (text: string): string => text.replaceAll(/\p{Cf}/gv, '').trim();

/** More than any language, or anybody for fun, puts on one letter; Unicode's stream-safe texts have 30. */
const mostMarks = 128;

/** Marks, and the two letters of half-width kana that NFKC turns into marks. */
const marks = /[\p{M}\uFF9E\uFF9F]+/gv;

/**
 * A text in a normal form of Unicode. Of more than 128 marks in a row it keeps the first 128.
 *
 * `String.normalize` alone puts marks into their order in time quadratic to their number: half a million of them, which
 * strangers may send, take a minute.
 */
export const normalized = (text: string, form: 'NFC' | 'NFKC'): string =>
  text
    .replaceAll(marks, (run) =>
      // A mark has one or two UTF-16 units.
      run.length <= mostMarks
        ? run
        : Array.from(run.slice(0, mostMarks * 2))
            .slice(0, mostMarks)
            .join(''),
    )
    .normalize(form);

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * The longest beginning of a text that has whole characters, as people see them, and is not longer than so much.
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
