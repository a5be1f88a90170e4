/** URNs of posts. LinkedIn itself chooses whether a post becomes a `share` or a `ugcPost`. */
const post = String.raw`urn:li:(?:share|ugcPost|activity):[0-9]{1,20}`;

export const postUrnPattern = `^${post}$`;

const isPostUrn = new RegExp(postUrnPattern, 'v');

/** The URN of a post, or null for anything else. */
export const postUrnOf = (value: string | undefined): string | null =>
  value !== undefined && isPostUrn.test(value) ? value : null;

/** Finds a post's URN in a message of LinkedIn: `Content is a duplicate of urn:li:share:1`. */
export const postUrnIn = (text: string): string | null =>
  new RegExp(String.raw`\b${post}\b`, 'v').exec(text)?.[0] ?? null;

/**
 * When LinkedIn created a post, in milliseconds since 1970: the upper bits of its id. (The duplicate
 * `urn:li:share:7141138937766391808` was reported on 2023-12-14, the date in its id.) Used only for the age of
 * duplicates.
 */
export const idTimeMs = (urn: string): number =>
  Number(BigInt(urn.split(':').at(-1) ?? '0') >> 22n);

const comment = new RegExp(String.raw`^urn:li:comment:\(${post},[0-9]{1,20}\)$`, 'v');

/** Whether a URN names a comment in LinkedIn's own form: the post's URN and the comment's id. */
export const isCommentUrn = (value: string): boolean => comment.test(value);

/** The page of a post. @param webUrl Base URL of the website, without a trailing slash. */
export const postPage = (webUrl: string, urn: string): string => `${webUrl}/feed/update/${urn}/`;

/** The page of a post that shows one comment first. */
export function commentPage(webUrl: string, urn: string, commentUrn: string): string {
  // In page URLs, the post inside a comment's URN has no `urn:li:` prefix.
  const short = commentUrn.replace('(urn:li:', '(');
  return `${postPage(webUrl, urn)}?commentUrn=${encodeURIComponent(short)}`;
}
