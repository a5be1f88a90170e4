import { answerReader, jsonOf, quote } from '../answer.ts';
import { NetworkError, type PreparedPart, type SentPart } from '../network.ts';
import { call, type LinkedinAccess } from './client.ts';
import type { LinkCard } from './link-card.ts';
import { littleText, plainText } from './little-text.ts';
import { choiceOf } from './options.ts';
import { mayBeOf, mayBeOurs, preparedOf, type Prepared } from './prepared.ts';
import { isDuplicate, refusal, refusedBy, unreadable } from './refusal.ts';
import { postPage, postUrnIn, postUrnOf, postUrnPattern } from './urns.ts';

/** The posting account, and the website that shows its posts. */
export type Author = { readonly urn: string; readonly webUrl: string };

/** The content of a post beside its text. */
type Content = {
  /** The URNs of the part's files, in order. */
  readonly files: readonly string[];
  /** Only for a post without files. */
  readonly card: LinkCard | null;
};

/** Errors that settle whether an earlier send arrived. All other errors leave it open. */
const conclusiveCodes = new Set(['content_refused', 'media_refused', 'duplicate']);

/**
 * Creates one post. If an earlier send is in doubt, this send also shows whether that one arrived; an error that does
 * not show it leaves it in doubt.
 */
export async function createPost(
  access: LinkedinAccess,
  author: Author,
  part: PreparedPart,
  content: Content,
): Promise<SentPart> {
  try {
    return await postAgain(access, author, part, content);
  } catch (error) {
    const isOpen = preparedOf(part.data).isDoubted === true;
    if (!isOpen && content.card?.article && isRefusal(error)) {
      return postWithoutCard(access, author, part, content.card, error);
    }
    if (isOpen && error instanceof NetworkError && !conclusiveCodes.has(error.code)) {
      const { code, message, retryAtMs, limit, server, cause } = error;
      throw new NetworkError(code, message, {
        accepted: 'unknown',
        retryAtMs,
        limit,
        cause,
        ...(server && { server }),
      });
    }

    throw error;
  }
}

const isRefusal = (error: unknown): error is NetworkError =>
  error instanceof NetworkError &&
  error.accepted === 'no' &&
  ['content_refused', 'media_refused'].includes(error.code);

/**
 * Sends the post without its card after a final refusal, which may concern only the card.
 *
 * @throws NetworkError `unconfirmed` when the response is lost: the next attempt would send the card again, and
 *   LinkedIn might not recognise that post as a duplicate.
 */
async function postWithoutCard(
  access: LinkedinAccess,
  author: Author,
  part: PreparedPart,
  { article, warnings }: LinkCard,
  refused: NetworkError,
): Promise<SentPart> {
  const link = quote(article?.source, []);
  const warning = `LinkedIn refused the post with the card for ${link}, and accepted it without one. ${refused.message}`;
  const card = { article: null, warnings: [...warnings, warning] };
  try {
    return await postAgain(access, author, part, { files: [], card });
  } catch (error) {
    if (error instanceof NetworkError && error.accepted === 'unknown') {
      const { message, accepted, cause } = error;
      throw new NetworkError('unconfirmed', message, { accepted, cause });
    }
    throw error;
  }
}

/**
 * Sends one post. While LinkedIn has the first post, it refuses a second one.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api
 *
 * @throws NetworkError `duplicate`, with the existing post in `existing` when an earlier send may have created it.
 */
async function postAgain(
  access: LinkedinAccess,
  author: Author,
  part: PreparedPart,
  { files, card }: Content,
): Promise<SentPart> {
  const response = await call(access, {
    method: 'POST',
    path: '/rest/posts',
    body: {
      author: author.urn,
      commentary: littleText(part.text),
      visibility: choiceOf(part.options).visibility,
      distribution: {
        feedDistribution: 'MAIN_FEED',
        targetEntities: [],
        thirdPartyDistributionChannels: [],
      },
      lifecycleState: 'PUBLISHED',
      isReshareDisabledByAuthor: false,
      ...(card?.article ? { content: { article: card.article } } : contentOf(part, files)),
    },
    purpose: 'create',
  });
  const urn = postUrnOf(response.headers['x-restli-id']);
  if (response.status >= 200 && response.status < 300) {
    if (urn === null) {
      throw unreadable('create');
    }
    return sentPartOf(author, urn, card);
  }

  const error = refusal(response, { ...access, purpose: 'create' });
  const refused = refusedBy(response);
  const known = isDuplicate(response.status, refused) ? postUrnIn(refused.message ?? '') : null;
  throw known !== null && mayBeOurs(preparedOf(part.data), known)
    ? withExisting(error, sentPartOf(author, known, card))
    : error;
}

const sentPartOf = ({ webUrl }: Author, urn: string, card: LinkCard | null): SentPart => ({
  remoteId: urn,
  url: postPage(webUrl, urn),
  ...(card && card.warnings.length > 0 && { warning: card.warnings.join(' ') }),
});

const withExisting = (
  { code, message, accepted }: NetworkError,
  existing: SentPart,
): NetworkError =>
  new NetworkError(code, message, { accepted, server: 'answered', existing: [existing] });

/** Only images have an alt text on LinkedIn. */
function contentOf({ media }: PreparedPart, files: readonly string[]): object {
  const named = files.map((id, index) => {
    const { altText, type } = media[index] ?? { altText: null, type: '' };
    return { id, ...(altText !== null && type.startsWith('image/') && { altText }) };
  });
  const [only] = named;
  if (!only) {
    return {};
  }
  return { content: named.length === 1 ? { media: only } : { multiImage: { images: named } } };
}

type ListedPost = {
  readonly id: string;
  readonly commentary?: string;
  /** Milliseconds since 1970. */
  readonly createdAt?: number;
  readonly publishedAt?: number;
  readonly content?: {
    readonly media?: object;
    readonly multiImage?: { readonly images?: readonly object[] };
  };
};

const readPosts = answerReader<{ readonly elements: readonly ListedPost[] }>({
  type: 'object',
  required: ['elements'],
  properties: {
    elements: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id'],
        properties: {
          id: { type: 'string', pattern: postUrnPattern },
          commentary: { type: 'string' },
          createdAt: { type: 'integer' },
          publishedAt: { type: 'integer' },
          content: {
            type: 'object',
            properties: {
              media: { type: 'object' },
              multiImage: {
                type: 'object',
                properties: { images: { type: 'array', items: { type: 'object' } } },
              },
            },
          },
        },
      },
    },
  },
});

const pageSize = 100;
/** 1000 posts since a post began exceed what an account makes; also ends the loop when a server pages in a circle. */
const maxPages = 10;

/**
 * The author's posts that may be this part, oldest first.
 *
 * @returns null when LinkedIn does not show the author's posts to this app: members' posts need `r_member_social`,
 *   which few apps get.
 * @throws NetworkError `unconfirmed` when there are too many posts to check.
 */
export async function findPosts(
  access: LinkedinAccess,
  author: Author,
  part: PreparedPart,
  card: LinkCard | null,
): Promise<readonly SentPart[] | null> {
  const prepared = preparedOf(part.data);
  const found: SentPart[] = [];
  for (let page = 0; page < maxPages; page += 1) {
    const posts = await listPosts(access, author.urn, page * pageSize);
    if (posts === null) {
      return null;
    }

    const fitting = posts.filter((post) => fits(post, part, prepared));
    found.push(...fitting.map(({ id }) => sentPartOf(author, id, card)));
    const isOver = posts.some((post) => !mayBeOf(prepared, timeOf(post)));
    if (posts.length < pageSize || isOver) {
      return found.toReversed();
    }
  }

  const message = `The account has over ${maxPages * pageSize} newer posts, too many to search.`;
  throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
}

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
  const response = await call(access, {
    method: 'GET',
    path: `/rest/posts?${search}`,
    headers: { 'x-restli-method': 'FINDER' },
    purpose: 'reconcile',
  });
  if (response.status === 403) {
    return null;
  }
  if (response.status !== 200) {
    throw refusal(response, { ...access, purpose: 'reconcile' });
  }

  const posts = readPosts(jsonOf(response));
  if (!posts) {
    throw unreadable('reconcile');
  }
  return posts.elements;
}

function fits(post: ListedPost, { text }: PreparedPart, prepared: Prepared): boolean {
  const { media, multiImage } = post.content ?? {};
  const mediaCount = multiImage?.images?.length ?? (media ? 1 : 0);
  const hasText = plainText(post.commentary ?? '').trim() === text.trim();
  return hasText && mediaCount === prepared.mediaCount && mayBeOf(prepared, timeOf(post));
}

/** A post without a time counts as new. */
const timeOf = ({ createdAt, publishedAt }: ListedPost): number =>
  createdAt ?? publishedAt ?? Infinity;
