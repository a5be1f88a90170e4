import { NetworkError, type Finding, type SentPart } from './network.ts';

/** In characters of the posts of all pages, which a hostile server could use to fill the memory. */
const mostRead = 2_000_000;

export type OwnPosts<Post, Key> = {
  /** Also ends the search when a server pages in a circle. */
  readonly mostPages: number;
  /** The subject when there are more: `The account has over 200 newer posts`. */
  readonly tooMany: string;
  /** Absent: the newest post comes first. */
  readonly isOldestFirst?: boolean;
  /** @param key What the page before gave as `next`. @returns without `next` at the end. */
  readonly page: (
    key: Key | undefined,
  ) => Promise<{ readonly posts: readonly Post[]; readonly next?: Key | undefined }>;
};

/**
 * Searches the account's posts for a part whose send was not answered.
 *
 * @param matching The posts that may be the part, of all posts, the oldest first.
 * @throws NetworkError `unconfirmed` when there are too many posts to read, and none of those that were read is the part.
 */
export async function findOwn<Post extends { readonly id: string }, Key>(
  { mostPages, tooMany, isOldestFirst = false, page }: OwnPosts<Post, Key>,
  matching: (posts: readonly Post[]) => Promise<readonly SentPart[]> | readonly SentPart[],
): Promise<Finding> {
  // By id, because a page may contain a post of the page before again.
  const found = new Map<string, Post>();
  let next: Key | undefined;
  let [pages, length] = [0, 0];
  do {
    const read = await page(next);
    for (const post of read.posts) {
      found.set(post.id, post);
    }
    ({ next } = read);
    pages += 1;
    length += JSON.stringify(read.posts).length;
  } while (next !== undefined && pages < mostPages && length < mostRead);

  const posts = [...found.values()];
  const finding = findingOf(await matching(isOldestFirst ? posts : posts.toReversed()));
  if (finding.kind === 'absent' && next !== undefined) {
    const message = `${tooMany}, too many to search.`;
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
  }
  return finding;
}

/** @param posts That may be the part, the oldest first; each counts once. */
export function findingOf(posts: readonly SentPart[]): Finding {
  const candidates = [...new Map(posts.map((post) => [post.remoteId, [post]])).values()];
  return candidates.length > 0 ? { kind: 'found', candidates } : { kind: 'absent' };
}
