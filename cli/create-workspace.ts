import { hashApiKey, newApiKey } from '../runtime/token.ts';
import { ApiKey } from '../db/entities/api-key.ts';
import { Workspace } from '../db/entities/workspace.ts';
import type { Em } from '../db/orm.ts';

/** @returns the new workspace's id. */
export async function createWorkspace(em: Em, name: string): Promise<string> {
  const workspace = em.create(Workspace, { name, plan: 'standard' });
  await em.flush();
  return workspace.id;
}

/** @returns the key, which is kept only as its hash and cannot be shown again. */
export async function createApiKey(em: Em, workspaceId: string): Promise<string> {
  const key = newApiKey();
  em.create(ApiKey, {
    workspaceId,
    hash: hashApiKey(key),
    lastFour: key.slice(-4),
    revokedAt: null,
    lastUsedAt: null,
  });
  await em.flush();
  return key;
}
