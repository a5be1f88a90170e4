import { quote } from '../answer.ts';
import { isSuccess } from '../client.ts';
import { NetworkError, type PreparedPart, type SentPart } from '../network.ts';
import { call, type LinkedinAccess } from './client.ts';
import type { LinkCard } from './link-card.ts';
import {
  littleText,
  mayBeOurs,
  preparedOf,
  postUrnIn,
  postUrnOf,
  sentPartOf,
  type Author,
} from './posts.ts';
import { isDuplicate } from './refusal.ts';
import { chosenIn } from './rules.ts';

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
      const { code, message, cause } = error;
      throw new NetworkError(code, message, { ...error, cause, accepted: 'unknown' });
    }

    throw error;
  }
}

type Content = {
  readonly files: readonly string[];
  /** Only for a post without files. */
  readonly card: LinkCard | null;
};

/** Errors that settle whether an earlier send arrived. All other errors leave it open. */
const conclusiveCodes = new Set(['content_refused', 'media_refused', 'duplicate']);

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
      visibility: chosenIn(part.options).visibility ?? 'PUBLIC',
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
  if (isSuccess(response)) {
    if (urn === null) {
      throw response.unreadable();
    }
    return sentPartOf(author, urn, card);
  }

  const error = response.refusal();
  const refused = response.said();
  const known = isDuplicate(response.status, refused) ? postUrnIn(refused.message ?? '') : null;
  throw known !== null && mayBeOurs(preparedOf(part.data), known)
    ? new NetworkError(error.code, error.message, {
        ...error,
        existing: [sentPartOf(author, known, card)],
      })
    : error;
}

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
