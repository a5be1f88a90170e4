import { cidForLex } from '@atproto/lex-cbor';
import { account } from './account.ts';
import { Refusal } from '../refusal.ts';
import type { Fate } from '../script.ts';
import { assertBlobs } from './blobs.ts';
import type { BlueskyDeps } from './deps.ts';
import { isBlueskyPost, type BlueskyPost } from './post.ts';
import { toPost } from './record.ts';
import { internalError, refusalFor } from './refusals.ts';
import { filesOf } from './show.ts';

/** A record to write. */
export type Write = {
  readonly collection: string;
  /** The sandbox generates it when absent. */
  readonly rkey: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
  /** The write may replace nothing, anything, or only the record with this CID (null: no record). */
  readonly over: 'nothing' | 'anything' | { readonly cid: string | null };
};

export type Written = {
  readonly posts: readonly BlueskyPost[];
  /** Undefined when nothing changed. */
  readonly commit: { readonly cid: string; readonly rev: string } | undefined;
  /** The response: the commit, none (cuts the connection), or an error. */
  readonly answer: 'normal' | 'none' | 'error';
};

/**
 * Writes all records or none.
 *
 * @throws Refusal 400 for an invalid record or a `swapRecord` that does not match, 429, and 500 for a taken key, like a
 * PDS. The page shows posts that were refused for their content.
 */
export async function writeRecords(deps: BlueskyDeps, writes: readonly Write[]): Promise<Written> {
  const { store, nextTid } = deps;
  const posts = await toPosts(deps, writes);
  const commit = await commitOf(posts, nextTid());

  // No `await` from here to `put`, so that no other request comes between the checks and the change.
  const found = posts.map((post) => store.find('bluesky', post.id));
  const cids = found.map((post) => (isBlueskyPost(post) ? post.cid : null));
  for (const [n, write] of writes.entries()) {
    assertAllowed(write, posts[n]?.cid, cids[n] ?? null);
  }
  if (new Set(posts.map((post) => post.id)).size < posts.length) {
    throw internalError();
  }
  if (posts.every((post, n) => post.cid === cids[n])) {
    return { posts, commit: undefined, answer: 'normal' };
  }
  const fate = fateOf(deps, posts, writes);
  if (fate.kind !== 'take') {
    const refusal = refusalFor(fate, deps.now());
    if (fate.kind === 'refuse' || fate.kind === 'duplicate') {
      await keepRefused(deps, posts, refusal);
    }
    throw refusal;
  }
  if (fate.hiddenUntilMs !== null) {
    store.hide(posts, fate.hiddenUntilMs);
  }
  if (fate.alteredUntilMs !== null) {
    store.alter(posts, fate.alteredUntilMs);
  }
  await store.put(posts);
  return { posts, commit, answer: fate.answer };
}

/** @throws Refusal 400 for a record that breaks the lexicon, or refers to a missing file. */
async function toPosts(
  deps: BlueskyDeps,
  writes: readonly Write[],
): Promise<readonly BlueskyPost[]> {
  try {
    const posts = await Promise.all(
      writes.map(({ collection, rkey, value }) =>
        toPost(deps.by.account, collection, rkey ?? deps.nextTid(), value),
      ),
    );
    for (const { record } of posts) {
      await assertBlobs(deps.files, record);
    }
    return posts;
  } catch (error) {
    if (error instanceof Refusal) {
      const createdAt = new Date(deps.now()).toISOString();
      const texts = writes.flatMap(({ value: { text } }) => (typeof text === 'string' ? text : []));
      await keepRefused(
        deps,
        texts.map((text) => ({ text, createdAt, replyTo: null, record: {} })),
        error,
      );
    }
    throw error;
  }
}

type Kept = Pick<BlueskyPost, 'text' | 'createdAt' | 'replyTo'> & {
  readonly record: Pick<BlueskyPost['record'], 'embed'>;
};

async function keepRefused(
  { store, by }: BlueskyDeps,
  posts: readonly Kept[],
  { message: refused }: Refusal,
): Promise<void> {
  for (const { text, createdAt, replyTo, record } of posts) {
    const files = filesOf(record);
    await store.refuse({
      network: 'bluesky',
      text,
      createdAt,
      replyTo,
      account: by.account,
      refused,
      files,
    });
  }
}

function fateOf(
  { script, by }: BlueskyDeps,
  posts: readonly BlueskyPost[],
  writes: readonly Write[],
): Fate {
  const key = posts.map((post, n) => writes[n]?.rkey ?? post.text).join(' ');
  return script.fateOf({ network: 'bluesky', texts: posts.map(({ text }) => text), key, by });
}

/** @param cid Of the new record. @param there Of the existing record at the key. */
function assertAllowed(write: Write, cid: string | undefined, there: string | null): void {
  if (write.over === 'nothing' && there !== null) {
    throw internalError();
  }
  // Writing the same record again changes nothing, so a PDS ignores `swapRecord` then.
  if (typeof write.over === 'object' && write.over.cid !== there && cid !== there) {
    const stands = there === null ? 'There is no record' : `Record was at ${there}`;
    throw new Refusal(400, stands, { code: 'InvalidSwap' });
  }
}

/** Replaces a repository's signed commit, which the sandbox does not have: identifies the written records. */
export async function commitOf(posts: readonly BlueskyPost[], rev: string) {
  const written = posts.map(({ id, cid }) => `${id} ${cid}`);
  return { cid: String(await cidForLex({ did: account.did, rev, written })), rev };
}
