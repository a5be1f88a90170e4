/** Posts as LinkedIn names them. Which of the first two a post becomes is its own choice. */
const post = String.raw`urn:li:(?:share|ugcPost|activity):[0-9]{1,20}`;

export const postUrnPattern = `^${post}$`;

const isPostUrn = new RegExp(postUrnPattern, 'v');

/** The URN of a post, or null for anything else. */
export const postUrnOf = (value: string | undefined): string | null =>
  value !== undefined && isPostUrn.test(value) ? value : null;

/** The post that a sentence of LinkedIn's names: `Content is a duplicate of urn:li:share:1`. */
export const postUrnIn = (words: string): string | null =>
  new RegExp(String.raw`\b${post}\b`, 'v').exec(words)?.[0] ?? null;

/**
 * When LinkedIn made a post, in milliseconds since 1970, to the millisecond: the upper bits of its id. (The duplicate
 * `urn:li:share:7141138937766391808` was reported on 2023-12-14, which it says itself.) Nothing but the age of
 * duplicates is judged by it.
 */
export const idTimeMs = (urn: string): number =>
  Number(BigInt(urn.split(':').at(-1) ?? '0') >> 22n);

const comment = new RegExp(String.raw`^urn:li:comment:\(${post},[0-9]{1,20}\)$`, 'v');

/** Whether this names a comment as LinkedIn does: by the post's activity, and its own id. */
export const isCommentUrn = (value: string): boolean => comment.test(value);

/** The page of a post. @param webUrl Where people read posts, without a trailing slash. */
export const postPage = (webUrl: string, urn: string): string => `${webUrl}/feed/update/${urn}/`;

/** The page of a post on which one comment stands first. */
export function commentPage(webUrl: string, urn: string, commentUrn: string): string {
  // On pages the URN of a comment has its post without the prefix that all URNs have.
  const short = commentUrn.replace('(urn:li:', '(');
  return `${postPage(webUrl, urn)}?commentUrn=${encodeURIComponent(short)}`;
}
