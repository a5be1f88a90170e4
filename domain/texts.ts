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

/** Whether every program can take it as text: PostgreSQL holds no NUL, and half a surrogate pair is no character. */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
