import type { Em } from '../../db/orm.ts';
import { selectWorkspaces, type WorkspaceRow } from '../../db/repositories/workspaces.ts';
import { brandOf } from '../../domain/brand.ts';
import { isId } from '../../domain/json-schema.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { cutPage, readCursor } from '../cursor.ts';
import { unknownWorkspace } from './write-workspaces.ts';
import { Channel } from '../../db/entities/channels.ts';
import { WebhookEndpoint } from '../../db/entities/webhooks.ts';
import { ApiKey, Workspace } from '../../db/entities/workspaces.ts';
import { countMedia, countPosts } from '../../db/quotas.ts';
import { maxEndpoints } from '../../domain/webhook-deliveries.ts';
import type { Caller, QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { presentKey } from '../keys/read-keys.ts';

export const maxWorkspacePage = 100;

/**
 * Lists all workspaces, newest first, including those that are being deleted.
 *
 * @param quotas Limits of a workspace without its own.
 */
export async function listWorkspaces(
  em: Em,
  quotas: Quotas,
  { limit = maxWorkspacePage, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<{ readonly workspaces: WorkspaceView[]; readonly next_cursor: string | null }> {
  const rows = await selectWorkspaces(em, { after: readCursor(cursor), limit: limit + 1 });
  const { page, nextCursor } = cutPage(rows, limit, (row) => ({
    createdAt: row.created_at,
    id: row.id,
  }));
  return { workspaces: page.map((row) => present(row, quotas)), next_cursor: nextCursor };
}

export async function showWorkspace(em: Em, quotas: Quotas, id: string): Promise<WorkspaceView> {
  const [row] = isId(id) ? await selectWorkspaces(em, { id }) : [];
  if (!row) {
    throw unknownWorkspace(id);
  }

  return present(row, quotas);
}

/**
 * A workspace as an operator sees it: the limits in force, its own brand (a null field has the value of the settings),
 * and how many channels are connected.
 */
const present = (row: WorkspaceRow, quotas: Quotas) => ({
  id: row.id,
  name: row.name,
  plan: row.plan,
  quotas: { ...quotas, ...row.quotas },
  brand: brandOf((field) => row.brand[field]),
  channels: row.channels,
  created_at: row.created_at.toISOString(),
  deleted_at: row.deleted_at?.toISOString() ?? null,
});

export type WorkspaceView = ReturnType<typeof present>;

export async function readWorkspace(
  { orm }: Pick<ServiceDeps, 'orm'>,
  { workspaceId, keyId }: Pick<Caller, 'workspaceId' | 'keyId'>,
) {
  const em = orm.em.fork();
  const key = await em.findOneOrFail(ApiKey, { id: keyId, workspaceId });
  const { name } = await em.findOneOrFail(Workspace, { id: workspaceId });
  const channels = await em.count(Channel, { workspaceId, disconnectedAt: null });
  return { id: workspaceId, name, channels, key: presentKey(key) };
}

export const limitsOf = (quotas: Quotas): Quotas & { readonly webhooks: number } => ({
  ...quotas,
  webhooks: maxEndpoints,
});

/** How much a workspace has of everything that is limited. Reads counts along indexes, and no text of a post. */
export async function readUsage(
  { orm }: Pick<ServiceDeps, 'orm'>,
  { workspaceId }: QuotaOwner,
): Promise<ReturnType<typeof limitsOf>> {
  const em = orm.em.fork();
  const { textUsed } = await em.findOneOrFail(Workspace, { id: workspaceId });
  return {
    ...(await countPosts(em, workspaceId)),
    ...(await countMedia(em, workspaceId)),
    text_bytes: textUsed,
    channels: await em.count(Channel, { workspaceId, disconnectedAt: null }),
    webhooks: await em.count(WebhookEndpoint, { workspaceId }),
  };
}
