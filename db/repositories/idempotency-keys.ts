import { sql } from 'kysely';
import type { Actor } from '../audit.ts';
import type { Em } from '../orm.ts';
import { isReached } from '../post-status.ts';
import { query } from '../query.ts';

export type KeyUser = Pick<Actor, 'workspaceId' | 'channelIds'>;

export type StoredKey = {
  readonly fingerprint: string;
  readonly post_id: string | null;
  /** The same, if the key's user may learn it. */
  readonly reached_id: string | null;
  readonly is_deleted: boolean;
  readonly sealed_answer: string | null;
};

/** @returns null when no request used the key, or it has expired. */
export async function loadKey(
  em: Em,
  user: KeyUser,
  key: string,
  now: Date,
): Promise<StoredKey | null> {
  const { workspaceId } = user;
  const [row] = await query(
    em,
    sql<StoredKey>`
      select k.fingerprint, k.post_id, case when ${isReached(user)} then k.post_id end as reached_id,
        p.id is null as is_deleted, k.sealed_answer
      from idempotency_keys k left join posts p on p.id = k.post_id and p.workspace_id = k.workspace_id
      where k.workspace_id = ${workspaceId} and k.key = ${key} and (k.expires_at is null or k.expires_at > ${now})`,
  );
  return row ?? null;
}

type NewKey = {
  readonly key: string;
  readonly fingerprint: string;
  readonly postId: string | null;
  readonly expiresAt: Date | null;
};

/**
 * Stores a key, also over an expired one. Waits until a transaction with the same key has ended.
 *
 * @returns whether no other request has the key.
 */
export async function insertKey(
  em: Em,
  workspaceId: string,
  { key, fingerprint, postId, expiresAt }: NewKey,
  now: Date,
): Promise<boolean> {
  const stored = await query(
    em,
    sql`insert into idempotency_keys as known (workspace_id, key, fingerprint, post_id, created_at, expires_at)
        values (${workspaceId}, ${key}, ${fingerprint}, ${postId}, ${now}, ${expiresAt})
        on conflict (workspace_id, key) do update set fingerprint = excluded.fingerprint, post_id = excluded.post_id,
          created_at = excluded.created_at, expires_at = excluded.expires_at, sealed_answer = null
        where known.expires_at <= ${now}
        returning key`,
  );
  return stored.length > 0;
}

export async function keepAnswer(
  em: Em,
  workspaceId: string,
  key: string,
  sealedAnswer: string,
): Promise<void> {
  await query(
    em,
    sql`update idempotency_keys set sealed_answer = ${sealedAnswer}
        where workspace_id = ${workspaceId} and key = ${key}`,
  );
}

/** Sets when the key of a post expires. */
export async function expireKeyOf(
  em: Em,
  { workspaceId, postId }: { readonly workspaceId: string; readonly postId: string },
  expiresAt: Date,
): Promise<void> {
  await query(
    em,
    sql`update idempotency_keys set expires_at = ${expiresAt}
        where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
}
