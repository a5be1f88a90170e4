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
