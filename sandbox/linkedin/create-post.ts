import { Refusal } from '../refusal.ts';
import type { SandboxPost } from '../post.ts';
import type { Context } from 'koa';
import { accessIn } from '../oauth/access.ts';
import type { Signer } from '../orders.ts';
import type { Fate } from '../script.ts';
import { pageUrn } from './account.ts';
import { bodyReader, objectOf } from './check-fields.ts';
import type { LinkedinDeps } from './deps.ts';
import { mayActFor } from './guards.ts';
import { shownText } from './little-text.ts';
import {
  isLinkedinPost,
  type LinkedinPost,
  type PostArticle,
  type LinkedinPostMedia,
} from './post.ts';
import {
  accessDenied,
  badTokens,
  duplicateOf,
  invalid,
  throttled,
  unprocessable,
} from './refusals.ts';
import type { Uploads } from './uploads.ts';

const maxCharacters = 3000;
const maxAltText = 4086;

type Image = { readonly id: string; readonly altText?: string };

type Article = {
  readonly source: string;
  readonly title: string;
  readonly description?: string;
  readonly thumbnail?: string;
};

type Body = {
  readonly author: string;
  readonly commentary: string;
  readonly visibility: string;
  readonly content?: {
    readonly media?: Image;
    readonly multiImage?: { readonly images: readonly Image[] };
    readonly article?: Article;
  };
};

const media = objectOf(
  { id: { type: 'string' }, altText: { type: 'string' }, title: { type: 'string' } },
  ['altText', 'title'],
);
const image = objectOf({ id: { type: 'string' }, altText: { type: 'string' } }, ['altText']);
const article = objectOf(
  {
    source: { type: 'string', pattern: '^https?://[^/]' },
    title: { type: 'string', minLength: 1, maxLength: 400 },
    description: { type: 'string', maxLength: 4086 },
    thumbnail: { type: 'string', pattern: '^urn:li:image:' },
  },
  ['description', 'thumbnail'],
);
const none = { type: 'array', maxItems: 0 };

const readPost = bodyReader<Body>(
  objectOf(
    {
      author: { type: 'string' },
      commentary: { type: 'string' },
      visibility: { enum: ['PUBLIC', 'CONNECTIONS'] },
      distribution: objectOf({
        feedDistribution: { const: 'MAIN_FEED' },
        targetEntities: none,
        thirdPartyDistributionChannels: none,
      }),
      lifecycleState: { const: 'PUBLISHED' },
      isReshareDisabledByAuthor: { type: 'boolean' },
      content: {
        ...objectOf(
          { media, multiImage: objectOf({ images: { type: 'array', items: image } }), article },
          ['media', 'multiImage', 'article'],
        ),
        minProperties: 1,
        maxProperties: 1,
      },
    },
    ['content'],
  ),
);

export type Created = {
  readonly post: LinkedinPost;
  /** The response: the URN, none (cuts the connection), or an error. */
  readonly answer: 'normal' | 'none' | 'error';
};

/**
 * Creates a post from the body of a request.
 *
 * @throws Refusal 400, 401, 403, 422 or 429, like LinkedIn. The page shows posts that were refused for their content.
 */
export async function createPost(
  deps: LinkedinDeps,
  ctx: Context,
  body: unknown,
): Promise<Created> {
  const { store, now, nextId } = deps;
  const { author, commentary, visibility, content = {} } = readPost(body);
  if (!mayActFor(ctx, author)) {
    throw accessDenied(`partnerApiPostsExternal.CREATE as ${author}`);
  }

  const files = mediaOf(deps, author, content);
  const kind = files.some(({ urn }) => urn.startsWith('urn:li:video:')) ? 'ugcPost' : 'share';
  const post: LinkedinPost = {
    network: 'linkedin',
    account: accessIn(ctx).account,
    id: `urn:li:${kind}:${nextId()}`,
    text: shownText(commentary),
    createdAt: new Date(now()).toISOString(),
    replyTo: null,
    author,
    commentary,
    visibility,
    media: files,
    ...(content.article && { article: articleOf(deps, author, content.article) }),
  };
  const { answer, hiddenUntilMs } = await admit(deps, post, accessIn(ctx));
  if (hiddenUntilMs !== null) {
    store.hide([post], hiddenUntilMs);
  }
  await store.put([post]);
  return { post, answer };
}

/** @throws Refusal when the post breaks a rule, or a directive requests it. */
async function admit(deps: LinkedinDeps, post: LinkedinPost, by: Signer) {
  const { store } = deps;
  const { network, text, createdAt, replyTo, account, media: files } = post;
  try {
    assertFits(store.all(), post);
    return fateOf(deps, text, by);
  } catch (error) {
    if (error instanceof Refusal && [400, 422].includes(error.status)) {
      const refused = error.message;
      await store.refuse({ network, text, createdAt, replyTo, account, refused, files });
    }
    throw error;
  }
}

/** The script's fate for a post or a comment. @throws Refusal */
export function fateOf(
  { script, now }: LinkedinDeps,
  text: string,
  by: Signer,
): Extract<Fate, { kind: 'take' }> {
  const fate = script.fateOf({ network: 'linkedin', texts: [text], key: text, by });
  switch (fate.kind) {
    case 'take':
      return fate;
    case 'refuse':
      throw invalid(fate.reason);
    case 'duplicate':
      throw duplicateOf(`urn:li:share:${BigInt(now() - yearMs) << 22n}`);
    case 'busy':
      throw throttled(fate.resetMs, now());
    case 'revoked':
    case 'ended':
      throw badTokens[fate.kind]();
  }
}

const yearMs = 365 * 24 * 60 * 60 * 1000;

function assertFits(posts: readonly SandboxPost[], post: LinkedinPost): void {
  const { text, commentary, author, media: files, visibility } = post;
  if (text.length > maxCharacters) {
    throw invalid(
      `/commentary :: the text has ${text.length} characters, the limit is ${maxCharacters}`,
      'FIELD_LENGTH_TOO_LONG',
    );
  }
  if (text.trim() === '' && files.length === 0) {
    throw invalid('/commentary :: a post without content needs a text', 'MISSING_FIELD');
  }
  if (author === pageUrn && visibility !== 'PUBLIC') {
    throw invalid(`/visibility :: ${visibility} is not for organizations`);
  }
  const equal = posts
    .filter(isLinkedinPost)
    .find(
      (other) =>
        other.replyTo === null &&
        other.author === author &&
        other.commentary === commentary &&
        urnsOf(other) === urnsOf(post),
    );
  // It is not known whether LinkedIn compares posts without a text: the sandbox accepts them.
  if (equal && commentary !== '') {
    throw duplicateOf(equal.id);
  }
}

const urnsOf = ({ media: files, article: card }: LinkedinPost): string =>
  [...files.map(({ urn }) => urn), card?.source, card?.thumbnail?.urn].join();

/** @throws Refusal 400 or 422 for files that are missing or not ready. */
function mediaOf(
  { uploads }: LinkedinDeps,
  author: string,
  { media: one, multiImage }: NonNullable<Body['content']>,
): LinkedinPostMedia[] {
  const named = multiImage?.images ?? (one ? [one] : []);
  if (multiImage && (named.length < 2 || named.length > 20)) {
    throw unprocessable(`/content/multiImage/images :: ${named.length} images, not 2 to 20`);
  }
  return named.map(({ id, altText = '' }) => {
    const { cid, type } = storedOf(uploads, author, id);
    const isImage = id.startsWith('urn:li:image:');
    if ((multiImage && !isImage) || (altText !== '' && !isImage) || altText.length > maxAltText) {
      throw unprocessable('/content :: only images have an alt text, of up to 4086 characters');
    }
    return { urn: id, cid, type, altText };
  });
}

/** @throws Refusal 400 for a thumbnail that is missing or not ready. */
function articleOf(
  { uploads }: LinkedinDeps,
  author: string,
  { source, title, description = '', thumbnail }: Article,
): PostArticle {
  const picture = thumbnail === undefined ? null : storedOf(uploads, author, thumbnail);
  return {
    source,
    title,
    description,
    thumbnail: picture && { urn: thumbnail ?? '', altText: '', ...picture },
  };
}

function storedOf(
  uploads: Uploads,
  author: string,
  id: string,
): Pick<LinkedinPostMedia, 'cid' | 'type'> {
  const upload = uploads.find(id);
  if (upload === undefined || upload.owner !== author) {
    throw invalid(`${id} is not a file of ${author}`, 'INVALID_URN_ID');
  }
  if (upload.status !== 'AVAILABLE' || upload.stored === null) {
    const code =
      upload.status === 'PROCESSING_FAILED'
        ? 'MEDIA_ASSET_PROCESSING_FAILED'
        : 'MEDIA_ASSET_WAITING_UPLOAD';
    throw invalid(`${id} is ${upload.status}`, code);
  }
  const { cid, type } = upload.stored;
  return { cid, type };
}
