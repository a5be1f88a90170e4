import { quote } from '../answer.ts';
import { isSuccess } from '../client.ts';
import { findingOf } from '../find-own.ts';
import {
  NetworkError,
  onlyPart,
  type Connection,
  type Finding,
  type Network,
  type PreparedPart,
  type PublishStep,
  type SentPart,
} from '../network.ts';
import { keptUpload } from '../uploads/resumable.ts';
import { call, type LinkedinAccess } from './client.ts';
import { createComment, deleteComment, findComments } from './comments.ts';
import { keepCard, keptCard, type LinkCard } from './link-card.ts';
import { linkedinMetrics } from './metrics.ts';
import {
  deletePost,
  findPosts,
  littleText,
  mayBeOurs,
  postUrnIn,
  postUrnOf,
  preparedOf,
  sentPartOf,
  type Author,
  type Prepared,
} from './posts.ts';
import { isDuplicate } from './refusal.ts';
import { chosenIn, linkedinSettings, rules } from './rules.ts';
import { type LinkedinUpload, uploadFile } from './uploads.ts';

/**
 * LinkedIn's members and organisations. The first part is a post, the second one its first comment.
 *
 * Few apps may read posts, so mostly the next send shows the outcome of a lost one: LinkedIn refuses a duplicate and
 * names the existing post.
 */
export function createLinkedinNetwork(version: string): Network {
  const open = (connection: Connection): LinkedinAccess => ({ ...connection, version });

  return {
    id: 'linkedin',
    rules,
    threads: 'sequential',
    metrics: linkedinMetrics(version),
    prepare: async (_connection, parts, nowMs) =>
      parts.map((part) => {
        const data: Prepared = { preparedAtMs: nowMs, mediaCount: part.media.length };
        return { ...part, data };
      }),
    upload: (connection, step) => upload(open(connection), connection, placeOf(step)),
    send: async (connection, step, files) => {
      const { part, post } = placeOf(step);
      const access = open(connection);
      const author = authorOf(connection);
      const sent = post
        ? await createComment(access, author, part, post)
        : await createPost(access, author, part, { files, card: keptCard(connection, part) });
      return [sent];
    },
    reconcile: async (connection, step) => {
      const { part, post } = placeOf(step);
      const access = open(connection);
      const author = authorOf(connection);
      const finding = post
        ? findingOf(await findComments(access, author, part, post))
        : await findPosts(access, author, part, keptCard(connection, part));
      return withDoubt(finding, part);
    },
    remove: async (connection, live) => {
      const [post, comment] = live;
      const access = open(connection);
      return post && comment
        ? deleteComment(access, authorOf(connection), post, comment)
        : deletePost(access, post?.remoteId ?? '');
    },
  };
}

async function upload(
  access: LinkedinAccess,
  connection: Connection,
  { part, post }: Place,
): Promise<readonly string[]> {
  if (post && part.media.length > 0) {
    const message = 'A comment on LinkedIn cannot have files.';
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  if (!post) {
    await keepCard(access, connection, part);
  }

  const isDoubted = preparedOf(part.data).isDoubted === true;
  return Array.fromAsync(part.media, (file) => {
    const kept = keptUpload<LinkedinUpload>(connection, part, file).read();
    // A post may already use this upload. Only a second send with the same URN shows that.
    const used = isDoubted && kept?.kind === 'whole' ? kept.urn : null;
    return used ?? uploadFile(access, connection, part, file);
  });
}

const authorOf = ({ remoteId: urn, settings }: Connection): Author => ({
  urn,
  webUrl: linkedinSettings(settings).webUrl,
});

/**
 * An absent part that may exist all the same is marked `isDoubted`: when LinkedIn calls the next send a duplicate, the
 * existing post may be this part.
 *
 * @param finding Null when LinkedIn does not show posts.
 * @throws NetworkError `unconfirmed` when LinkedIn might not recognise the second send as a duplicate.
 */
function withDoubt(finding: Finding | null, { text, data }: PreparedPart): Finding {
  if (finding === null && text.trim() === '') {
    const message =
      'LinkedIn does not show posts to this app, and it may not recognise a duplicate of a post without a text.';
    throw new NetworkError('unconfirmed', message, { accepted: 'unknown' });
  }

  if (finding?.kind === 'found') {
    return finding;
  }

  const noted: Prepared = { ...preparedOf(data), isDoubted: true };
  return { kind: 'absent', data: [noted], isHidden: finding === null };
}

type Place = { readonly part: PreparedPart; readonly post: SentPart | undefined };

const placeOf = (step: PublishStep): Place => ({ part: onlyPart(step), post: step.sent[0] });

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
