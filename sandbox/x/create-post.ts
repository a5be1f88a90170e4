import type { SandboxDeps } from '../deps.ts';
import { isBy, type SandboxPost } from '../post.ts';
import { Refusal } from '../refusal.ts';
import type { Signer } from '../orders.ts';
import { assertPlayed, checkCreatePost } from './check-body.ts';
import { isXPost, type XPost } from './post.ts';
import { duplicate, forbidden, invalid, refusalFor } from './problems.ts';
import { fits } from './text.ts';
import type { Uploads } from './uploads.ts';

/** X does not document for how long it refuses a duplicate text. */
const duplicateMs = 10 * 60_000;

export type XDeps = SandboxDeps & { readonly uploads: Uploads; readonly nextId: () => string };

export type Created = {
  readonly post: XPost;
  /** The response: the post, none (cuts the connection), or an error. */
  readonly answer: 'normal' | 'none' | 'error';
};

/**
 * Creates a post from the body of a request.
 *
 * @throws Refusal 400, 401, 403 or 429, like X. The page shows posts that were refused for their content.
 */
export async function createPost(deps: XDeps, body: unknown, by: Signer): Promise<Created> {
  const { store, nextId, now } = deps;
  const post = toPost(deps, body, {
    account: by.account,
    id: nextId(),
    createdAt: new Date(now()).toISOString(),
  });
  const { answer, hiddenUntilMs, alteredUntilMs } = await admit(deps, post, by);
  if (hiddenUntilMs !== null) {
    store.hide([post], hiddenUntilMs);
  }
  if (alteredUntilMs !== null) {
    store.alter([post], alteredUntilMs);
  }
  await store.put([post]);
  return { post, answer };
}

function toPost(
  { store, uploads }: XDeps,
  body: unknown,
  made: Pick<SandboxPost, 'id' | 'createdAt' | 'account'>,
): XPost {
  const fields = checkCreatePost(body);
  assertPlayed(fields);
  const files = uploads.choose(fields.media?.media_ids ?? []);
  const text = (fields.text ?? '').trim().normalize('NFC');
  if (text === '' && files.length === 0) {
    throw invalid('A post needs a text or media.');
  }
  const replyTo = fields.reply?.in_reply_to_tweet_id ?? null;
  const parent = replyTo === null ? undefined : store.find('x', replyTo);
  if (replyTo !== null && !isXPost(parent)) {
    throw forbidden('You attempted to reply to a Tweet that is deleted or not visible to you.');
  }
  return {
    ...made,
    network: 'x',
    text,
    replyTo,
    conversationId: isXPost(parent) ? parent.conversationId : made.id,
    files,
    isMadeWithAi: fields.made_with_ai ?? false,
    isPaidPartnership: fields.paid_partnership ?? false,
  };
}

/** @throws Refusal when the post breaks a rule, or a directive requests it. */
async function admit({ store, script, now }: XDeps, post: XPost, by: Signer) {
  const { network, text, createdAt, replyTo, files, account } = post;
  try {
    if (!fits(text)) {
      throw forbidden('Your Tweet text is too long.');
    }
    const key = `${replyTo ?? ''} ${text}`;
    const fate = script.fateOf({ network, texts: [text], key, by });
    if (fate.kind !== 'take') {
      throw refusalFor(fate);
    }
    if (hasEqual(store.all().filter(isBy(by.account)), post, now())) {
      throw duplicate();
    }
    return fate;
  } catch (error) {
    if (error instanceof Refusal && error.status === 403) {
      const refused = error.message;
      await store.refuse({ network, text, createdAt, replyTo, account, refused, files });
    }
    throw error;
  }
}

/** The link to its files makes the text of a post with files unique. */
const hasEqual = (posts: readonly SandboxPost[], { text, files }: XPost, nowMs: number): boolean =>
  files.length === 0 &&
  posts.some(
    (post) =>
      isXPost(post) &&
      post.text === text &&
      post.files.length === 0 &&
      nowMs - Date.parse(post.createdAt) < duplicateMs,
  );
