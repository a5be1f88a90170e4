import { answerReader, jsonOf, quote } from '../answer.ts';
import { NetworkError, type PreparedPart, type SentPart } from '../network.ts';
import { call, type Access } from './client.ts';
import type { LinkCard } from './link-card.ts';
import { littleText, plainText } from './little-text.ts';
import { choiceOf } from './options.ts';
import { mayBeOf, mayBeOurs, preparedOf, type Prepared } from './prepared.ts';
import { isDuplicate, refusal, refusedBy, unreadable } from './refusal.ts';
import { postPage, postUrnIn, postUrnOf, postUrnPattern } from './urns.ts';

/** Who posts, and where people read it. */
export type Author = { readonly urn: string; readonly webUrl: string };

/** What a post shows beside its text. */
type Content = {
  /** The URNs of the part's files, in their order. */
  readonly files: readonly string[];
  /** Of a post without files. */
  readonly card: LinkCard | null;
};

/** What LinkedIn says of the post itself. All else leaves open what became of an earlier send. */
const verdicts = new Set(['content_refused', 'media_refused', 'duplicate']);

/**
 * Creates one post, or asks by doing so what became of an earlier send that is in doubt: while LinkedIn does not say
 * that, it stays in doubt.
 */
export async function createPost(
  access: Access,
  author: Author,
  part: PreparedPart,
  content: Content,
): Promise<SentPart> {
  try {
    return await postAnew(access, author, part, content);
  } catch (error) {
    const isOpen = preparedOf(part.data).isDoubted === true;
    if (!isOpen && content.card?.article && isRefusal(error)) {
      return postWithoutCard(access, author, part, content.card, error);
    }
    if (isOpen && error instanceof NetworkError && !verdicts.has(error.code)) {
      const { code, message, retryAtMs, limit, server, cause } = error;
      throw new NetworkError(code, message, {
        taken: 'unknown',
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
  error.taken === 'no' &&
  ['content_refused', 'media_refused'].includes(error.code);

/**
 * After a final refusal, which may be of the card alone.
 *
 * @throws NetworkError `unconfirmed` when the answer is lost: the next try would send the card again, and LinkedIn may
 *   not know that post for a duplicate.
 */
async function postWithoutCard(
  access: Access,
  author: Author,
  part: PreparedPart,
  { article, warnings }: LinkCard,
  refused: NetworkError,
): Promise<SentPart> {
  const link = quote(article?.source, []);
  const warning = `LinkedIn refused the post with the card for ${link}, and took it without one. ${refused.message}`;
  const card = { article: null, warnings: [...warnings, warning] };
  try {
    return await postAnew(access, author, part, { files: [], card });
  } catch (error) {
    if (error instanceof NetworkError && error.taken === 'unknown') {
      const { message, taken, cause } = error;
      throw new NetworkError('unconfirmed', message, { taken, cause });
    }
    throw error;
  }
}

/**
 * A second time LinkedIn refuses it, for as long as it knows the first.
 *
 * Source: https://learn.microsoft.com/linkedin/marketing/community-management/shares/posts-api
 *
 * @throws NetworkError `duplicate` with the post that is there in `existing`, where that may be of an earlier send.
 */
async function postAnew(
  access: Access,
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

const withExisting = ({ code, message, taken }: NetworkError, existing: SentPart): NetworkError =>
  new NetworkError(code, message, { taken, server: 'answered', existing: [existing] });

/** Videos have no alt text. */
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
/** 1000 posts since a post began is far more than an account makes, and a server that pages in a circle ends here. */
const maxPages = 10;

/**
 * The posts of an author that may be a part, oldest first.
 *
 * @returns null when LinkedIn does not show the author's posts to this app: those of members only to apps with
 *   `r_member_social`, which it gives to few.
 * @throws NetworkError `unconfirmed` when there are too many to see them all.
 */
export async function findPosts(
  access: Access,
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

  const message = `The account has over ${maxPages * pageSize} newer posts, too many to look through.`;
  throw new NetworkError('unconfirmed', message, { taken: 'unknown' });
}

/** A page of an author's posts, newest first. @returns null when LinkedIn does not show them to this app. */
async function listPosts(
  access: Access,
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

/** One that says none counts as of now. */
const timeOf = ({ createdAt, publishedAt }: ListedPost): number =>
  createdAt ?? publishedAt ?? Infinity;
