import { cidForLex } from '@atproto/lex-cbor';
import { blueskyAccount } from '../accounts.ts';
import type { BlueskyPost } from '../post.ts';
import { Refusal } from '../refusal.ts';
import { assertBlobs } from './blobs.ts';
import type { BlueskyDeps } from './deps.ts';
import { toPost } from './record.ts';

const busySeconds = 5;

/** One record to write. */
export type Write = {
  readonly collection: string;
  /** Without one, the sandbox makes it. */
  readonly rkey: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
  /** What may stand at the key: nothing, anything, or only the record with this CID (null: none). */
  readonly over: 'nothing' | 'anything' | { readonly cid: string | null };
};

export type Written = {
  readonly posts: readonly BlueskyPost[];
  /** Undefined when nothing changed. */
  readonly commit: { readonly cid: string; readonly rev: string } | undefined;
  /** The caller is to get no answer. */
  readonly isLost: boolean;
};

/**
 * Writes all records or none.
 *
 * @throws Refusal 400 for a record that is wrong or for one that stands in its way, 429, and 500 for a taken key,
 * because that is how a PDS answers it.
 */
export async function writeRecords(deps: BlueskyDeps, writes: readonly Write[]): Promise<Written> {
  const { store, files, failures, nextTid, now } = deps;
  const posts = await Promise.all(
    writes.map(({ collection, rkey, value }) => toPost(collection, rkey ?? nextTid(), value)),
  );
  for (const { record } of posts) {
    await assertBlobs(files, record);
  }
  const commit = await commitOf(posts, nextTid());

  // From here to `put` nothing waits, so that no other request comes between the checks and the change.
  const found = posts.map((post) => store.find('bluesky', post.id));
  const cids = found.map((post) => (post?.network === 'bluesky' ? post.cid : null));
  for (const [n, write] of writes.entries()) {
    assertAllowed(write, posts[n]?.cid, cids[n] ?? null);
  }
  if (new Set(posts.map((post) => post.id)).size < posts.length) {
    throw takenKey();
  }
  if (posts.every((post, n) => post.cid === cids[n])) {
    return { posts, commit: undefined, isLost: false };
  }
  const texts = posts.map((post) => post.text);
  const key = posts.map((post, n) => writes[n]?.rkey ?? post.text).join(' ');
  if (failures.refuses(texts)) {
    throw new Refusal(400, 'The text has #sandbox-refuse in it');
  }
  if (failures.isBusy(texts, key)) {
    throw tooManyRequests(Math.ceil(now() / 1000) + busySeconds);
  }
  await store.put(posts);
  return { posts, commit, isLost: failures.loses(texts, key) };
}

/** @param cid Of what is to be written. @param there Of what stands at the key. */
function assertAllowed(write: Write, cid: string | undefined, there: string | null): void {
  if (write.over === 'nothing' && there !== null) {
    throw takenKey();
  }
  // The same record once more is no change, so a PDS does not even look at `swapRecord`.
  if (typeof write.over === 'object' && write.over.cid !== there && cid !== there) {
    const stands = there === null ? 'There is no record' : `Record was at ${there}`;
    throw new Refusal(400, stands, { code: 'InvalidSwap' });
  }
}

/** Stands for a repository's signed commit, which the sandbox does not have: it names what was written. */
async function commitOf(posts: readonly BlueskyPost[], rev: string) {
  const written = posts.map(({ id, cid }) => `${id} ${cid}`);
  return { cid: String(await cidForLex({ did: blueskyAccount.did, rev, written })), rev };
}

function takenKey(): Refusal {
  return new Refusal(500, 'Internal Server Error', { code: 'InternalServerError' });
}

function tooManyRequests(resetSeconds: number): Refusal {
  return new Refusal(429, 'Rate Limit Exceeded', {
    code: 'RateLimitExceeded',
    headers: {
      'ratelimit-limit': '5000',
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(resetSeconds),
      'retry-after': String(busySeconds),
    },
  });
}
