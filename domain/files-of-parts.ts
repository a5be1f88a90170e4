type FileOfPart = {
  readonly id: string;
  /** Index in the thread, from 0. */
  readonly part: number;
};

/**
 * The files of each post that a channel gets, in order. A single post has the files of all parts, each once.
 *
 * @param files The post's files, in order.
 * @param posts How many posts the channel gets.
 */
export function filesOfParts<F extends FileOfPart>(files: readonly F[], posts: number): F[][] {
  return posts > 1
    ? Array.from({ length: posts }, (_, part) => files.filter((file) => file.part === part))
    : [eachOnce(files)];
}

/** Keeps the first file of each id. */
export const eachOnce = <F extends { readonly id: string }>(files: readonly F[]): F[] =>
  files.filter((file, index) => files.findIndex(({ id }) => id === file.id) === index);
