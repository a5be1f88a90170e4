type FileOfPart = {
  readonly id: string;
  /** Of the thread, from 0. */
  readonly part: number;
};

/**
 * The files of each of the posts that a channel gets, in order. A single post has those of all parts, and each once.
 *
 * @param files Of the post, in order.
 * @param posts How many there are.
 */
export function filesOfParts<F extends FileOfPart>(files: readonly F[], posts: number): F[][] {
  return posts > 1
    ? Array.from({ length: posts }, (_, part) => files.filter((file) => file.part === part))
    : [eachOnce(files)];
}

/** The first of those with the same id. */
export const eachOnce = <F extends { readonly id: string }>(files: readonly F[]): F[] =>
  files.filter((file, index) => files.findIndex(({ id }) => id === file.id) === index);
