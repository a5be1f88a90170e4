import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import { countMedia, countPosts } from '../../db/quotas.ts';
import type { Quotas } from '../../domain/quotas.ts';
import { maxEndpoints } from '../../domain/webhook-deliveries.ts';
import type { Caller, QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { keyColumns, presentKey, type KeyRow, type KeyView } from '../keys/read-keys.ts';

type WorkspaceSummary = {
  readonly id: string;
  readonly name: string | null;
  /** How many channels it has. */
  readonly channels: number;
  /** The key of the call. */
  readonly key: KeyView;
};

type Row = Omit<WorkspaceSummary, 'key' | 'id' | 'name'> &
  KeyRow & { readonly workspace_name: string | null };

/** Describes the workspace that a key acts for, and the key. */
export async function readWorkspace(
  { orm }: Pick<ServiceDeps, 'orm'>,
  { workspaceId, keyId }: Pick<Caller, 'workspaceId' | 'keyId'>,
): Promise<WorkspaceSummary> {
  const [row] = await query(
    orm.em.fork(),
    sql<Row>`select ${keyColumns},
        (select w.name from workspaces w where w.id = k.workspace_id) as workspace_name,
        (select count(*)::int from channels c
          where c.workspace_id = k.workspace_id and c.disconnected_at is null) as channels
      from api_keys k where id = ${keyId} and workspace_id = ${workspaceId}`,
  );
  if (!row) {
    throw new Error('The key of this call has no row.');
  }

  const { workspace_name: name, channels } = row;
  return { id: workspaceId, name, channels, key: presentKey(row) };
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
  const posts = await countPosts(em, workspaceId);
  const media = await countMedia(em, workspaceId);
  const [row] = await query(
    em,
    sql<{ text_bytes: string; channels: number; webhooks: number }>`
      select (select text_used::text from workspaces where id = ${workspaceId}) as text_bytes,
        (select count(*)::int from channels where workspace_id = ${workspaceId} and disconnected_at is null) as channels,
        (select count(*)::int from webhook_endpoints where workspace_id = ${workspaceId}) as webhooks`,
  );
  const { text_bytes: text = '0', channels = 0, webhooks = 0 } = row ?? {};
  return { ...posts, ...media, text_bytes: Number(text), channels, webhooks };
}
