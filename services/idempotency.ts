import type { Em } from '../db/orm.ts';
import {
  expireKeyOf,
  insertKey,
  keepAnswer,
  loadKey,
  type KeyUser,
  type StoredKey,
} from '../db/repositories/idempotency-keys.ts';
import { answerPurpose } from '../db/sealing-purposes.ts';
import { AppError } from '../domain/errors.ts';
import { sha256Hex } from '../runtime/secrets.ts';
import type { ServiceDeps } from './deps.ts';

/** How long a key is kept for a deleted post, or for an object other than a post, in milliseconds. */
const keptMs = 24 * 3_600_000;

export type RequestKey = {
  readonly key: string;
  /** Hash of the request: the key creates one object only for the same request. */
  readonly print: string;
};

/** Hashes a request independent of the order of its fields. */
export const fingerprint = (request: unknown): string => sha256Hex(canonical(request));

function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(',')}]`;
  }

  if (value !== null && typeof value === 'object') {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
  }

  return JSON.stringify(value);
}

/** @throws AppError `idempotency_key_reused` when the key was used with another request. */
async function findKey(
  em: Em,
  user: KeyUser,
  { key, print }: RequestKey,
  now: Date,
): Promise<StoredKey | null> {
  const row = await loadKey(em, user, key, now);
  if (row && row.fingerprint !== print) {
    const message =
      row.reached_id === null
        ? 'This idempotency key was used with another request, or by another API key. Use a new one for a new request.'
        : `This idempotency key made post ${row.reached_id} with another body. Use a new key for a new post.`;
    throw new AppError('idempotency_key_reused', message);
  }

  return row;
}

/** The post that this key created, or null. @throws AppError `idempotency_key_reused` for another request; `post_deleted`. */
export async function findReplayed(
  em: Em,
  user: KeyUser,
  key: RequestKey,
  now: Date,
): Promise<string | null> {
  const row = await findKey(em, user, key, now);
  if (row?.is_deleted) {
    const message = `This idempotency key made post ${row.post_id}, which was deleted. Use a new key for a new post.`;
    throw new AppError('post_deleted', message);
  }

  return row?.post_id ?? null;
}

export async function isKeyUsed(
  em: Em,
  workspaceId: string,
  key: string,
  now: Date,
): Promise<boolean> {
  return (await loadKey(em, { workspaceId, channelIds: null }, key, now)) !== null;
}

/** Another request with this key has created its object meanwhile. */
export class KeyTakenError extends Error {
  override readonly name = 'KeyTakenError';
}

/**
 * Stores the key in the transaction that creates its object. A concurrent request with it waits here for the commit.
 *
 * @throws KeyTakenError
 */
export async function claimKey(
  em: Em,
  workspaceId: string,
  { key, print }: RequestKey,
  postId: string | null,
  now: Date,
  forMs = keptMs,
): Promise<void> {
  const expiresAt = postId === null ? new Date(now.getTime() + forMs) : null;
  const row = { key, fingerprint: print, postId, expiresAt };
  if (!(await insertKey(em, workspaceId, row, now))) {
    throw new KeyTakenError();
  }
}

/** Lets the key of a post expire a day after the post was deleted. */
export const expireKey = (
  em: Em,
  post: { readonly workspaceId: string; readonly postId: string },
  now: Date,
): Promise<void> => expireKeyOf(em, post, new Date(now.getTime() + keptMs));

/** Runs the transaction that creates an object. @returns the answer for the caller, which has to be JSON. */
type Transact<T> = (create: (em: Em) => Promise<T>) => Promise<T>;

/**
 * Creates an object once for each idempotency key, for calls other than those that create posts. The answer is stored
 * sealed, since it may contain a secret, and a repeated request gets it again.
 *
 * @param scopeId The workspace, or the operator key of a call with one.
 * @param create Calls `transact` once, with all checks that depend on other rows inside it.
 */
export async function createOnce<T extends object>(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'sealer'>,
  scopeId: string,
  key: RequestKey | undefined,
  create: (transact: Transact<T>) => Promise<T>,
  forMs = keptMs,
): Promise<T & { readonly replayed: boolean }> {
  if (key === undefined) {
    const answer = await create((work) => deps.orm.em.fork().transactional(work));
    return { ...answer, replayed: false };
  }

  const purpose = answerPurpose(scopeId, key.key);
  const noPosts = { workspaceId: scopeId, channelIds: [] };
  const earlier = await findKey(deps.orm.em.fork(), noPosts, key, deps.now());
  if (earlier) {
    const answer: T = JSON.parse(deps.sealer.open(earlier.sealed_answer ?? '', purpose));
    return { ...answer, replayed: true };
  }

  try {
    const answer = await create((work) =>
      deps.orm.em.fork().transactional(async (em) => {
        await claimKey(em, scopeId, key, null, deps.now(), forMs);
        const made = await work(em);
        const sealed = deps.sealer.seal(JSON.stringify(made), purpose);
        await keepAnswer(em, scopeId, key.key, sealed);
        return made;
      }),
    );
    return { ...answer, replayed: false };
  } catch (error) {
    if (error instanceof KeyTakenError) {
      return createOnce(deps, scopeId, key, create, forMs);
    }

    throw error;
  }
}
