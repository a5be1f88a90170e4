import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { PostScope } from '../context.ts';

/** The idempotency key of a request. */
export type RequestKey = {
  readonly key: string;
  /** Hash of the request: the key creates one post only for the same request. */
  readonly print: string;
};

type Row = { post_id: string; fingerprint: string };

/**
 * Returns the post that this key created, or null when the key is unused.
 *
 * @throws AppError `idempotency_key_reused` when the key was used with another body.
 */
export async function findReplayed(
  em: Em,
  workspaceId: string,
  { key, print }: RequestKey,
): Promise<string | null> {
  const [row] = await query(
    em,
    sql<Row>`
      select post_id, fingerprint from idempotency_keys where workspace_id = ${workspaceId} and key = ${key}`,
  );
  if (row && row.fingerprint !== print) {
    throw new AppError(
      'idempotency_key_reused',
      `This idempotency key made post ${row.post_id} with another body. Use a new key for a new post.`,
    );
  }

  return row?.post_id ?? null;
}

/** Another request with this key has created a post meanwhile. */
export class KeyTakenError extends Error {
  override readonly name = 'KeyTakenError';
}

/**
 * Stores the key in the transaction that creates the post. A concurrent request with the same key waits here until the
 * first has committed.
 *
 * @throws KeyTakenError
 */
export async function claimKey(
  em: Em,
  { workspaceId, key, print, postId }: RequestKey & PostScope,
  now: Date,
): Promise<void> {
  const claimed = await query(
    em,
    sql`insert into idempotency_keys (workspace_id, key, fingerprint, post_id, created_at)
        values (${workspaceId}, ${key}, ${print}, ${postId}, ${now}) on conflict do nothing returning key`,
  );
  if (claimed.length === 0) {
    throw new KeyTakenError();
  }
}
