import { LockMode } from '@mikro-orm/core';
import { AuditEntrySchema, ApiKey } from '../entities/workspaces.ts';
import type { Em } from '../orm.ts';
import { lockWorkspace } from './workspaces.ts';

/** The keys of a workspace that are not revoked, oldest first. */
export const findKeys = (em: Em, workspaceId: string): Promise<ApiKey[]> =>
  em.find(ApiKey, { workspaceId, revokedAt: null }, { orderBy: { createdAt: 'asc', id: 'asc' } });

/**
 * Locks keys that are not revoked, and all changes of keys in the workspace, until the transaction ends.
 *
 * @returns those that exist, in the order of the ids.
 */
export async function lockKeys(em: Em, workspaceId: string, ids: readonly string[]) {
  await lockWorkspace(em, workspaceId);
  const keys = await em.find(
    ApiKey,
    { workspaceId, id: { $in: ids }, revokedAt: null },
    { orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  return ids.map((id) => keys.find((key) => key.id === id));
}

/** Counts a workspace's keys, and those that it and one of its keys made since a time. */
export async function countKeys(em: Em, workspaceId: string, keyId: string, since: Date) {
  const recent = { workspaceId, action: 'key.created', at: { $gt: since } };
  return {
    count: await em.count(ApiKey, { workspaceId, revokedAt: null }),
    made: await em.count(AuditEntrySchema, recent),
    madeByKey: await em.count(AuditEntrySchema, { ...recent, actorId: keyId }),
  };
}

/** Stores a new key. */
export async function storeKey(
  em: Em,
  key: Pick<
    ApiKey,
    'workspaceId' | 'hash' | 'lastFour' | 'name' | 'scopes' | 'channelIds' | 'expiresAt'
  >,
): Promise<ApiKey> {
  const stored = em.create(ApiKey, { ...key, revokedAt: null, lastUsedAt: null });
  await em.flush();
  return stored;
}
