import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { bytesOfText, countMedia, countPosts } from '../../db/quotas.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { maxEndpoints } from '../../domain/webhook-deliveries.ts';

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
  const posts = await countPosts(em, workspaceId);
  const media = await countMedia(em, workspaceId);
  // The shares have the bytes of text since the workspace's first post, of old texts too.
  const [row] = await query(
    em,
    sql<{ text_bytes: string; channels: number; webhooks: number }>`
      select coalesce((select sum(text_used) from quota_shares where workspace_id = ${workspaceId}),
          (${bytesOfText(workspaceId)}))::text as text_bytes,
        (select count(*)::int from channels where workspace_id = ${workspaceId} and disconnected_at is null) as channels,
        (select count(*)::int from webhook_endpoints where workspace_id = ${workspaceId}) as webhooks`,
  );
  const { text_bytes: text = '0', channels = 0, webhooks = 0 } = row ?? {};
  return { ...posts, ...media, text_bytes: Number(text), channels, webhooks };
}
