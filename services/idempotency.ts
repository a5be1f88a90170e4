import { sql } from 'kysely';
import type { Actor } from '../db/audit.ts';
import type { Em } from '../db/orm.ts';
import { isReached } from '../db/post-status.ts';
import { query } from '../db/query.ts';
import { answerPurpose } from '../db/sealing-purposes.ts';
import { AppError } from '../domain/errors.ts';
import { sha256Hex } from '../runtime/secrets.ts';
import type { ServiceDeps } from './deps.ts';

/** How long a key is kept for a deleted post, or for an object other than a post, in milliseconds. */
const keptMs = 24 * 3_600_000;

/** The idempotency key of a request. */
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

/** Who uses a key. */
type KeyUser = Pick<Actor, 'workspaceId' | 'channelIds'>;

type Row = {
  readonly fingerprint: string;
  readonly post_id: string | null;
  /** The same, if the key's user may learn it. */
  readonly reached_id: string | null;
  readonly is_deleted: boolean;
  readonly sealed_answer: string | null;
};

/** @throws AppError `idempotency_key_reused` when the key was used with another request. */
async function findKey(
  em: Em,
  user: KeyUser,
  { key, print }: RequestKey,
  now: Date,
): Promise<Row | null> {
  const { workspaceId } = user;
  const [row] = await query(
    em,
    sql<Row>`
      select k.fingerprint, k.post_id, case when ${isReached(user)} then k.post_id end as reached_id,
        p.id is null as is_deleted, k.sealed_answer
      from idempotency_keys k left join posts p on p.id = k.post_id and p.workspace_id = k.workspace_id
      where k.workspace_id = ${workspaceId} and k.key = ${key} and (k.expires_at is null or k.expires_at > ${now})`,
  );
  if (row && row.fingerprint !== print) {
    throw new AppError(
      'idempotency_key_reused',
      row.reached_id === null
        ? 'This idempotency key was used with another request, or by another API key. Use a new one for a new request.'
        : `This idempotency key made post ${row.reached_id} with another body. Use a new key for a new post.`,
    );
  }

  return row ?? null;
}

/**
 * Returns the post that this key created, or null when the key is unused.
 *
 * @throws AppError `idempotency_key_reused` when the key was used with another request; `post_deleted`.
 */
export async function findReplayed(
  em: Em,
  user: KeyUser,
  key: RequestKey,
  now: Date,
): Promise<string | null> {
  const row = await findKey(em, user, key, now);
  if (row?.is_deleted) {
    throw new AppError(
      'post_deleted',
      `This idempotency key made post ${row.post_id}, which was deleted. Use a new key for a new post.`,
    );
  }

  return row?.post_id ?? null;
}

/** Whether the key was used, by whatever request. */
export async function isKeyUsed(
  em: Em,
  workspaceId: string,
  key: string,
  now: Date,
): Promise<boolean> {
  const rows = await query(
    em,
    sql`select 1 from idempotency_keys where workspace_id = ${workspaceId} and key = ${key}
        and (expires_at is null or expires_at > ${now})`,
  );
  return rows.length > 0;
}

/** Another request with this key has created its object meanwhile. */
export class KeyTakenError extends Error {
  override readonly name = 'KeyTakenError';
}

/**
 * Stores the key in the transaction that creates its object. A concurrent request with the same key waits here until
 * the first has committed.
 *
 * @param postId Null for an object other than a post.
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
  const claimed = await query(
    em,
    sql`insert into idempotency_keys as known (workspace_id, key, fingerprint, post_id, created_at, expires_at)
        values (${workspaceId}, ${key}, ${print}, ${postId}, ${now}, ${expiresAt})
        on conflict (workspace_id, key) do update set fingerprint = excluded.fingerprint, post_id = excluded.post_id,
          created_at = excluded.created_at, expires_at = excluded.expires_at, sealed_answer = null
        where known.expires_at <= ${now}
        returning key`,
  );
  if (claimed.length === 0) {
    throw new KeyTakenError();
  }
}

/** Lets the key of a post expire a day after the post was deleted. */
export async function expireKey(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
  now: Date,
): Promise<void> {
  await query(
    em,
    sql`update idempotency_keys set expires_at = ${new Date(now.getTime() + keptMs)}
        where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
}

/** Runs the transaction that creates an object. @returns the answer for the caller, which has to be JSON. */
type Transact<T> = (create: (em: Em) => Promise<T>) => Promise<T>;

/**
 * Creates an object once for each idempotency key, for calls other than those that create posts. The answer is stored
 * sealed for a day, since it may contain a secret, and a repeated request gets it again.
 *
 * @param scopeId The workspace, or the operator key of a call with one.
 * @param key Undefined without a key: each call creates an object.
 * @param create Calls `transact` once, with all checks that depend on other rows inside it.
 * @param forMs How long the answer is kept, in milliseconds.
 * @throws AppError `idempotency_key_reused`
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
        await query(
          em,
          sql`update idempotency_keys set sealed_answer = ${sealed}
              where workspace_id = ${scopeId} and key = ${key.key}`,
        );
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
