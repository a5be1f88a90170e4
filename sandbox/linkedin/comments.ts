import type { Context } from 'koa';
import { accessIn } from '../oauth/access.ts';
import type { Signer } from '../orders.ts';
import { Refusal } from '../refusal.ts';
import { bodyReader, objectOf } from './check-fields.ts';
import { fateOf, type Created } from './create-post.ts';
import type { LinkedinDeps } from './deps.ts';
import { mayActFor } from './guards.ts';
import { activityOf, isLinkedinPost, type LinkedinPost } from './post.ts';
import { accessDenied, invalid, notFound } from './refusals.ts';

const maxCharacters = 1250;

type Body = {
  readonly actor: string;
  readonly object: string;
  readonly message: { readonly text: string };
};

const readComment = bodyReader<Body>(
  objectOf({
    actor: { type: 'string' },
    object: { type: 'string' },
    message: objectOf({ text: { type: 'string' }, attributes: { type: 'array' } }, ['attributes']),
  }),
);

/**
 * Creates a comment on a post. Its text is plain.
 *
 * @throws Refusal 400, 401, 403, 404 or 429, like LinkedIn. The page shows comments that were refused for their
 * content.
 */
export async function createComment(
  deps: LinkedinDeps,
  ctx: Context,
  urn: string,
  body: unknown,
): Promise<Created> {
  const { store, now, nextId } = deps;
  const post = findPost(deps, urn);
  const { actor, object, message } = readComment(body);
  if (!mayActFor(ctx, actor)) {
    throw accessDenied(`partnerApiSocialActions.CREATE as ${actor}`);
  }
  if (object !== urn) {
    throw invalid(`/object :: ${object} is not ${urn}`);
  }

  const comment: LinkedinPost = {
    network: 'linkedin',
    account: accessIn(ctx).account,
    id: `urn:li:comment:(${activityOf(post.id)},${nextId()})`,
    text: message.text,
    createdAt: new Date(now()).toISOString(),
    replyTo: post.id,
    author: actor,
    commentary: '',
    visibility: post.visibility,
    media: [],
  };
  const { answer, hiddenUntilMs } = await admit(deps, comment, accessIn(ctx));
  if (hiddenUntilMs !== null) {
    store.hide([comment], hiddenUntilMs);
  }
  await store.put([comment]);
  return { post: comment, answer };
}

async function admit(deps: LinkedinDeps, comment: LinkedinPost, by: Signer) {
  const { network, text, createdAt, replyTo, account } = comment;
  try {
    if (text.trim() === '' || text.length > maxCharacters) {
      throw invalid(`/message/text :: ${text.length} characters, not 1 to ${maxCharacters}`);
    }
    return fateOf(deps, text, by);
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) {
      const refused = error.message;
      await deps.store.refuse({ network, text, createdAt, replyTo, account, refused });
    }
    throw error;
  }
}

/** The comments on a post, oldest first. @throws Refusal 404 */
export function commentsOn(deps: LinkedinDeps, urn: string): LinkedinPost[] {
  const { id } = findPost(deps, urn);
  return deps.store
    .all()
    .filter(isLinkedinPost)
    .filter((post) => post.replyTo === id && !deps.store.isHidden(post));
}

function findPost({ store }: LinkedinDeps, urn: string): LinkedinPost {
  const post = store.find('linkedin', urn);
  if (!isLinkedinPost(post) || post.replyTo !== null) {
    throw notFound(urn);
  }
  return post;
}

/** LinkedIn's representation of a comment. With the directive `comment-urn`, in the form of older API versions. */
export function presentComment(
  { script }: LinkedinDeps,
  { id: urn, author, text, createdAt }: LinkedinPost,
) {
  const [, object = '', id = ''] = /^urn:li:comment:\((.*),(.*)\)$/v.exec(urn) ?? [];
  const at = { actor: author, time: Date.parse(createdAt) };
  return {
    actor: author,
    created: at,
    id,
    ...(script.takeOrder('linkedin', 'comment-urn') ? { $URN: urn } : { commentUrn: urn }),
    lastModified: at,
    message: { attributes: [], text },
    object,
  };
}
