import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { headerText } from '../../runtime/header-text.ts';
import { sha256Hex } from '../../runtime/secrets.ts';
import type { CreatePostBody } from './schemas.ts';

/**
 * Returns the idempotency key from the header or the body. Both may be sent if they are equal.
 *
 * @throws AppError `invalid_request` when they differ, or the key is empty, too long or not valid text.
 */
export function idempotencyKey(
  header: string | undefined,
  fromBody: string | undefined,
): string | undefined {
  const fromHeader = header === undefined ? undefined : headerText(header);
  if (fromHeader !== undefined && fromBody !== undefined && fromHeader !== fromBody) {
    throw new AppError(
      'invalid_request',
      'The Idempotency-Key header and idempotency_key in the body differ. Send one of them.',
    );
  }

  const key = fromHeader ?? fromBody;
  if (key !== undefined && (key === '' || key.length > 255 || !isText(key))) {
    const message =
      'must have 1 to 255 characters, without NUL and without half of a surrogate pair';
    const details = [{ path: '/idempotency_key', message }];
    const where = fromHeader === undefined ? { details } : {};
    throw new AppError('invalid_request', `An idempotency key ${message}.`, where);
  }

  return key;
}

/** Hashes a request independent of the order of its fields and without its key. */
export function fingerprint({ idempotency_key: _, ...rest }: CreatePostBody): string {
  return sha256Hex(canonical(rest));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(',')}]`;
  }

  if (value !== null && typeof value === 'object') {
    const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
  }

  return JSON.stringify(value);
}

type Row = { post_id: string; fingerprint: string };

/**
 * Returns the post that this key created, or null when the key is unused.
 *
 * @throws AppError `idempotency_key_reused` when the key was used with another body.
 */
export async function findReplayed(
  em: Em,
  workspaceId: string,
  key: string,
  print: string,
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
  {
    workspaceId,
    key,
    print,
    postId,
  }: Readonly<Record<'workspaceId' | 'key' | 'print' | 'postId', string>>,
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
