type Texts = {
  readonly body: string | null;
  /** Takes precedence over `body`. */
  readonly thread: readonly string[] | null;
};

/**
 * The texts that a channel gets, in order; none for a post of media only. A blank text counts as empty.
 *
 * @param override The channel's own text, always a single post.
 */
export function textsForChannel(post: Texts, override: string | null, threads: boolean): string[] {
  const all = override === null ? (post.thread ?? [post.body ?? '']) : [override];
  const texts = all.map((text) => (text.trim() === '' ? '' : text));
  const posts = threads || texts.length < 2 ? texts : [texts.filter(Boolean).join('\n\n')];
  return posts.length === 1 && posts[0] === '' ? [] : posts;
}

/** Everything that a channel publishes, in order: its texts, then the first comment on a network with `comments`. */
export function withComment(
  texts: readonly string[],
  { first_comment: comment }: { readonly first_comment?: unknown },
  comments: boolean,
): readonly string[] {
  return comments && typeof comment === 'string' && comment.trim() !== ''
    ? [texts[0] ?? '', ...texts.slice(1), comment]
    : texts;
}

type FileOfPart = {
  readonly id: string;
  /** Index in the thread, from 0. */
  readonly part: number;
};

/** The files of each of the `posts` that a channel gets. A single one has the files of all parts, each once. */
export function filesOfParts<F extends FileOfPart>(files: readonly F[], posts: number): F[][] {
  return posts > 1
    ? Array.from({ length: posts }, (_, part) => files.filter((file) => file.part === part))
    : [eachOnce(files)];
}

/** Keeps the first file of each id. */
export const eachOnce = <F extends { readonly id: string }>(files: readonly F[]): F[] =>
  files.filter((file, index) => files.findIndex(({ id }) => id === file.id) === index);
