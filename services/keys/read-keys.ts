import { ApiKey } from '../../db/entities/workspaces.ts';
import type { Em } from '../../db/orm.ts';
import { reaches, scopesOf, type KeyRights } from '../../domain/api-keys.ts';
import type { Caller } from '../context.ts';

/** A key as its owner sees it. Times are ISO 8601; `last_used_at` is accurate to a minute. */
export const presentKey = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  last_four: key.lastFour,
  scopes: scopesOf(key.scopes),
  channel_ids: key.channelIds,
  expires_at: key.expiresAt?.toISOString() ?? null,
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
  created_at: key.createdAt.toISOString(),
});

export type KeyView = ReturnType<typeof presentKey>;

export const rightsOf = ({ scopes, channelIds, expiresAt }: ApiKey): KeyRights => ({
  scopes: scopesOf(scopes),
  channelIds,
  expiresAt,
});

/** Lists the keys of a workspace, oldest first. A restricted key sees those for no other channels than its own. */
export async function listKeys(
  em: Em,
  holder: Pick<Caller, 'workspaceId' | 'channelIds'>,
): Promise<KeyView[]> {
  const own = { workspaceId: holder.workspaceId, revokedAt: null };
  const keys = await em.find(ApiKey, own, { orderBy: { createdAt: 'asc', id: 'asc' } });
  return keys
    .map(presentKey)
    .filter(
      ({ channel_ids: ids }) =>
        holder.channelIds === null || ids?.every((id) => reaches(holder, id)),
    );
}
