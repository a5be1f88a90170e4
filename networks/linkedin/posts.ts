import {
  anyFields,
  count,
  flag,
  having,
  type Json,
  listOf,
  mayHave,
  type Value,
} from '../../domain/json-schema.ts';
import { answerReader, comparedText } from '../answer.ts';
import { findOwn, type OwnPosts } from '../find-own.ts';
import type { Finding, PreparedPart, Removal, SentPart } from '../network.ts';
import { get, remove, type LinkedinAccess } from './client.ts';

export type Author = { readonly urn: string; readonly webUrl: string };

const preparedSchema = having(
  {
    /** Posts of this part are not older than this time, by our clock. */
    preparedAtMs: { type: 'integer' },
    mediaCount: count,
  },
  {
    /** Whether a send is in doubt and LinkedIn does not show whether it arrived. */
    isDoubted: flag,
  },
);

export type Prepared = Value<typeof preparedSchema>;

const readPrepared = answerReader(preparedSchema);

export function preparedOf(data: Json): Prepared {
  const prepared = readPrepared(data);
  if (!prepared) {
    throw new Error('A part was not prepared for LinkedIn.');
  }

  return prepared;
}

/** The largest assumed difference between our clock and LinkedIn's, in milliseconds. */
const clockSkewMs = 60_000;

/** Whether an entity with this creation time, by LinkedIn's clock, may belong to a part. */
export const mayBeOf = ({ preparedAtMs }: Prepared, createdAtMs: number): boolean =>
  createdAtMs >= preparedAtMs - clockSkewMs;

/** Whether the existing post of a duplicate refusal may come from a send in doubt. An older post does not. */
export const mayBeOurs = (prepared: Prepared, urn: string): boolean =>
  prepared.isDoubted === true && mayBeOf(prepared, idTimeMs(urn));

/** The link card of a post, or null. Its warnings concern the post. */
type Warned = { readonly warnings: readonly string[] } | null;

export const sentPartOf = ({ webUrl }: Author, urn: string, card: Warned): SentPart => ({
  remoteId: urn,
  url: postPage(webUrl, urn),
  ...(card && card.warnings.length > 0 && { warning: card.warnings.join(' ') }),
});

/** URNs of posts. LinkedIn itself chooses whether a post becomes a `share` or a `ugcPost`. */
const postUrn = String.raw`urn:li:(?:share|ugcPost|activity):[0-9]{1,20}`;

const postUrnPattern = `^${postUrn}$`;

const isPostUrn = new RegExp(postUrnPattern, 'v');

export const postUrnOf = (value: string | undefined): string | null =>
  value !== undefined && isPostUrn.test(value) ? value : null;

/** Finds a post's URN in a message of LinkedIn: `Content is a duplicate of urn:li:share:1`. */
export const postUrnIn = (text: string): string | null =>
  new RegExp(String.raw`\b${postUrn}\b`, 'v').exec(text)?.[0] ?? null;

/**
 * When LinkedIn created a post, in milliseconds since 1970: the upper bits of its id, as in
 * `urn:li:share:7141138937766391808`, which was reported as a duplicate on its date, 2023-12-14.
 */
const idTimeMs = (urn: string): number => Number(BigInt(urn.split(':').at(-1) ?? '0') >> 22n);

const commentUrnPattern = new RegExp(String.raw`^urn:li:comment:\(${postUrn},[0-9]{1,20}\)$`, 'v');

/** Whether a URN names a comment in LinkedIn's own form: the post's URN and the comment's id. */
export const isCommentUrn = (value: string): boolean => commentUrnPattern.test(value);

export const postPage = (webUrl: string, urn: string): string => `${webUrl}/feed/update/${urn}/`;

export function commentPage(webUrl: string, urn: string, commentUrn: string): string {
  // In page URLs, the post inside a comment's URN has no `urn:li:` prefix.
  const short = commentUrn.replace('(urn:li:', '(');
  return `${postPage(webUrl, urn)}?commentUrn=${encodeURIComponent(short)}`;
}

const pageSize = 100;

/** 1000 posts since a post began exceed what an account makes; also ends the loop when a server pages in a circle. */
const maxPages = 10;

/**
 * @returns null when LinkedIn does not show the author's posts to this app: members' posts need `r_member_social`,
 *   which few apps get.
 */
export async function findPosts(
  access: LinkedinAccess,
  author: Author,
  part: PreparedPart,
  card: Warned,
): Promise<Finding | null> {
  const prepared = preparedOf(part.data);
  let isShown = true;
  const own: OwnPosts<ListedPost, number> = {
    mostPages: maxPages,
    tooMany: `The account has over ${maxPages * pageSize} newer posts`,
    page: async (start = 0) => {
      const posts = await listPosts(access, author.urn, start);
      isShown = posts !== null;
      const isFull = posts !== null && posts.length >= pageSize;
      const isOver = !isFull || posts.some((post) => !mayBeOf(prepared, timeOf(post)));
      return { posts: posts ?? [], next: isOver ? undefined : start + pageSize };
    },
  };
  const finding = await findOwn(own, (posts) =>
    posts
      .filter((post) => fits(post, part, prepared))
      .map(({ id }) => sentPartOf(author, id, card)),
  );
  return isShown ? finding : null;
}

const postSchema = having(
  { id: { type: 'string', pattern: postUrnPattern } },
  {
    commentary: comparedText,
    /** Milliseconds since 1970. */
    createdAt: { type: 'integer' },
    publishedAt: { type: 'integer' },
    content: mayHave({
      media: anyFields,
      multiImage: mayHave({ images: listOf(anyFields) }),
    }),
  },
);

type ListedPost = Value<typeof postSchema>;

const readPosts = answerReader(having({ elements: listOf(postSchema) }));

/** A page of an author's posts, newest first. @returns null when LinkedIn does not show them to this app. */
async function listPosts(
  access: LinkedinAccess,
  author: string,
  start: number,
): Promise<readonly ListedPost[] | null> {
  const search = new URLSearchParams({
    q: 'author',
    author,
    count: String(pageSize),
    start: String(start),
    sortBy: 'CREATED',
  });
  const headers = { 'x-restli-method': 'FINDER' };
  const response = await get(access, `/rest/posts?${search}`, 'reconcile', { headers });
  return response.status === 403 ? null : response.as(readPosts).elements;
}

/**
 * Deletes a post. LinkedIn also answers 204 for one that was deleted before.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api#delete-posts
 */
export const deletePost = (access: LinkedinAccess, urn: string): Promise<Removal> =>
  remove(access, {
    path: `/rest/posts/${encodeURIComponent(urn)}`,
    headers: { 'x-restli-method': 'DELETE' },
  });

function fits(post: ListedPost, { text }: PreparedPart, prepared: Prepared): boolean {
  const { media, multiImage } = post.content ?? {};
  const mediaCount = multiImage?.images?.length ?? (media ? 1 : 0);
  const hasText = plainText(post.commentary ?? '').trim() === text.trim();
  return hasText && mediaCount === prepared.mediaCount && mayBeOf(prepared, timeOf(post));
}

/** A post without a time counts as new. */
const timeOf = ({ createdAt, publishedAt }: ListedPost): number =>
  createdAt ?? publishedAt ?? Infinity;

/** Characters with a meaning in LinkedIn's "little text". All of them must always be escaped. */
const reserved = /[\\|{}@[\]()<>#*_~]/g;

/**
 * A hashtag: at the beginning of a word, of letters and digits, but not of digits alone.
 *
 * In the middle of a word or of a link (`page#part`) a # is plain text. So is a # with combining marks, such as the
 * keycap emoji (U+FE0F and U+20E3), which a tag cannot contain.
 */
const hashtags =
  /(?<![^\s\(\[\{"'“‘«„¿¡])#(?!\p{M})((?=[[\p{M}\p{N}]--[\uFE0F\u20E3]]*\p{L})[[\p{L}\p{M}\p{N}]--[\uFE0F\u20E3]]+)/gv;

/**
 * Converts a plain text to LinkedIn's "little text": it displays as written, with live hashtags. LinkedIn cuts a post
 * off at an unescaped reserved character, and still reports success. Mentions would need the URN of a member.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/little-text-format
 *
 * @example littleText('Hi (all) #news') // 'Hi \(all\) {hashtag|\#|news}'
 */
export function littleText(text: string): string {
  let little = '';
  let end = 0;
  for (const { 0: match, 1: tag, index } of text.matchAll(hashtags)) {
    little += `${escaped(text.slice(end, index))}{hashtag|\\#|${tag}}`;
    end = index + match.length;
  }

  return little + escaped(text.slice(end));
}

const escaped = (text: string): string => text.replaceAll(reserved, '\\$&');

/** Converts a little text from LinkedIn to plain text. LinkedIn may escape more or less than we do. */
export const plainText = (little: string): string =>
  little.replaceAll(
    /\{hashtag\|\\?[#＃]\|(?<tag>[^\|\{\}]*)\}|\\(?<escaped>.)/gsv,
    (_, tag: string | undefined, char: string) => (tag === undefined ? char : `#${tag}`),
  );
