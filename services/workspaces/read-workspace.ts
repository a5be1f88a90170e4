import { Channel } from '../../db/entities/channels.ts';
import { WebhookEndpoint } from '../../db/entities/webhooks.ts';
import { ApiKey, Workspace } from '../../db/entities/workspaces.ts';
import { countMedia, countPosts } from '../../db/quotas.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { maxEndpoints } from '../../domain/webhook-deliveries.ts';
import type { Caller, QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { presentKey, type KeyView } from '../keys/read-keys.ts';

type WorkspaceSummary = {
  readonly id: string;
  readonly name: string | null;
  /** How many channels it has. */
  readonly channels: number;
  /** The key of the call. */
  readonly key: KeyView;
};

/** Describes the workspace that a key acts for, and the key. */
export async function readWorkspace(
  { orm }: Pick<ServiceDeps, 'orm'>,
  { workspaceId, keyId }: Pick<Caller, 'workspaceId' | 'keyId'>,
): Promise<WorkspaceSummary> {
  const em = orm.em.fork();
  const key = await em.findOneOrFail(ApiKey, { id: keyId, workspaceId });
  const { name } = await em.findOneOrFail(Workspace, { id: workspaceId });
  const channels = await em.count(Channel, { workspaceId, disconnectedAt: null });
  return { id: workspaceId, name, channels, key: presentKey(key) };
}

/** The limits of a workspace's stock: its quotas, and its webhook endpoints. */
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
