import {
  having,
  listOf,
  mayHave,
  nullable,
  text as textSchema,
  type Value,
} from '../../domain/json-schema.ts';
import { domainToUnicode } from 'node:url';
import twitterText from '../../runtime/twitter-text.ts';
import { normalized } from '../../domain/texts.ts';
import { answerReader, comparedText } from '../answer.ts';
import type { OwnPosts } from '../find-own.ts';
import type { Connection } from '../network.ts';
import { getAs, idSchema } from './client.ts';

/**
 * A link of a text: `url` is in the text, `expanded_url` is its target. With `media_key` it leads to one of the post's
 * own files.
 */
const linkSchema = mayHave({
  url: nullable(textSchema),
  expanded_url: nullable(textSchema),
  media_key: nullable(textSchema),
});

/** X ignores unknown parameters: a response without `conversation_id` ignored `post.fields`. */
const postSchema = having(
  { id: idSchema, text: comparedText, conversation_id: idSchema },
  {
    attachments: mayHave({ media_keys: nullable(listOf(textSchema)) }),
    entities: mayHave({ urls: nullable(listOf(linkSchema)) }),
  },
);

type OwnPost = Value<typeof postSchema>;

/** `meta` is required: X also sends nothing but `errors` with status 200, which says nothing about the posts. */
const readOwnPosts = answerReader(
  having(
    { meta: mayHave({ next_token: { type: 'string', minLength: 1, maxLength: 1000 } }) },
    { data: listOf(postSchema) },
  ),
);

/** X charges one read per post in a response, and nothing for a page. */
const pageSize = 100;

const maxPages = 2;

/**
 * The account's posts after an id, with replies and without reposts.
 *
 * Source: https://docs.x.com/x-api/users/get-posts
 */
export const ownPostsSince = (
  connection: Connection,
  sinceId: string,
): OwnPosts<OwnPost, string> => ({
  mostPages: maxPages,
  tooMany: `The account has over ${maxPages * pageSize} newer posts`,
  page: async (token) => {
    const search = new URLSearchParams({
      max_results: String(pageSize),
      since_id: sinceId,
      exclude: 'retweets',
      'post.fields': 'attachments,conversation_id,entities',
      ...(token !== undefined && { pagination_token: token }),
    });
    const path = `/2/users/${encodeURIComponent(connection.remoteId)}/tweets?${search}`;
    const { data = [], meta } = await getAs(connection, path, 'reconcile', readOwnPosts);
    return { posts: data, next: meta?.next_token };
  },
});

/** The epoch of X's ids, which begin with a time in milliseconds. */
const firstMs = 1_288_834_974_657n;

const bitsOfCount = 22n;

/** The largest id before those that X issues from a time on. @param timeMs In milliseconds since 1970. */
export function idBefore(timeMs: number): string {
  const sinceMs = BigInt(Math.floor(timeMs)) - firstMs;
  return String(sinceMs > 0n ? sinceMs << bitsOfCount : 1n);
}

/**
 * X replaces each link with a t.co link and reports its target separately, escapes `&`, `<` and `>`, and appends a link
 * to the files. So links are compared by their targets, and everything else only by letters and digits, because X may
 * trim and compose characters. A false match is better than a miss, which would post twice. A text without letters,
 * digits and links is compared whole.
 */
export function isSameText(post: OwnPost, text: string): boolean {
  const keys = post.attachments?.media_keys;
  // Null does not say whether the post has files.
  const guesses = keys === null ? [false, true] : [(keys ?? []).length > 0];
  const sent = sentOf(text);
  return guesses.some((hasFiles) => isSame(shownOf(post, hasFiles), sent));
}

function isSame(shown: Pieces, sent: Pieces): boolean {
  const isPlain = sent.links.length === 0 && lettersOf(sent.rest) === '';
  return (
    lettersOf(shown.rest) === lettersOf(sent.rest) &&
    shown.links.length === sent.links.length &&
    shown.links.every((link, index) => isSameLink(link, sent.links[index])) &&
    (!isPlain || bare(shown.rest) === bare(sent.rest))
  );
}

/** A link whose target is unknown matches any other. */
const isSameLink = (shown: string | null, sent: string | null | undefined): boolean =>
  shown === null || sent === null || shown === sent;

type Pieces = {
  readonly rest: string;
  /** Their targets, in one spelling; null for an unknown one. */
  readonly links: readonly (string | null)[];
};

function sentOf(text: string): Pieces {
  const links = twitterText.extractUrls(text);
  // We cannot know where a t.co link in the sent text leads.
  const addresses = links.map((link) =>
    /^https?:\/\/t\.co\//iv.test(link) ? null : normalizedUrl(link),
  );
  return { rest: without(text, links), links: addresses };
}

const ownLinks = /https?:\/\/t\.co\/[A-Za-z0-9]+/gv;

/** The link that X appends to the text of a post with files. */
const fileAddress = /^https:\/\/(?:x|twitter)\.com\/[^\/]+\/status\/\d+\/(?:photo|video)\/\d$/v;

function shownOf({ text, entities }: OwnPost, hasFiles: boolean): Pieces {
  const urls = entities?.urls ?? [];
  const found = text.match(ownLinks) ?? [];
  const links = found.flatMap((link, index): readonly (string | null)[] => {
    const known = urls.find(({ url }) => url === link);
    const address = known?.expanded_url;
    const isLast = index === found.length - 1;
    if (known?.media_key || fileAddress.test(address ?? '') || (!known && hasFiles && isLast)) {
      return [];
    }

    return [address ? normalizedUrl(address) : null];
  });
  return { rest: unescaped(without(text, found)), links };
}

/** @param links In their order in the text. */
function without(text: string, links: readonly string[]): string {
  let rest = '';
  let from = 0;
  for (const link of links) {
    const at = text.indexOf(link, from);
    rest += `${text.slice(from, at)} `;
    from = at + link.length;
  }

  return rest + text.slice(from);
}

/** Unifies the spellings of a URL: `example.com`, `http://EXAMPLE.com/`. */
function normalizedUrl(address: string): string {
  const url = URL.parse(/^https?:\/\//iv.test(address) ? address : `http://${address}`);
  if (!url) {
    return address;
  }

  const path = `${url.pathname}${url.search}${url.hash}`;
  const whole = `${domainToUnicode(url.hostname)}${url.port && `:${url.port}`}${decoded(path)}`;
  return normalized(whole, 'NFC').replace(/\/$/v, '');
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

const lettersOf = (text: string): string =>
  normalized(text, 'NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const bare = (text: string): string => normalized(text, 'NFC').replaceAll(/\s/gu, '');
