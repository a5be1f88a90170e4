import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import type { Caller } from '../context.ts';
import { scopesOf, type KeyRights, type Scope } from '../../domain/api-keys.ts';

/** A key as its owner sees it. Times are ISO 8601. */
export type KeyView = {
  readonly id: string;
  readonly name: string | null;
  readonly last_four: string;
  readonly scopes: readonly Scope[];
  readonly channel_ids: readonly string[] | null;
  readonly expires_at: string | null;
  /** Accurate to a minute. */
  readonly last_used_at: string | null;
  readonly created_at: string;
};

export type KeyRow = Pick<KeyView, 'id' | 'name' | 'last_four' | 'channel_ids'> & {
  /** Null for all. */
  readonly scopes: readonly Scope[] | null;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  readonly created_at: Date;
};

/** SQL: the columns of a {@link KeyRow}. */
export const keyColumns = sql`id, name, last_four, scopes, channel_ids, expires_at, last_used_at, created_at`;

export const presentKey = (row: KeyRow): KeyView => ({
  id: row.id,
  name: row.name,
  last_four: row.last_four,
  scopes: scopesOf(row.scopes),
  channel_ids: row.channel_ids,
  expires_at: row.expires_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});

export const rightsOf = (row: KeyRow): KeyRights => ({
  scopes: scopesOf(row.scopes),
  channelIds: row.channel_ids,
  expiresAt: row.expires_at,
});

/**
 * Lists the keys of a workspace that are not revoked, oldest first.
 *
 * @param channelIds Only keys for no other channels than these; null for all keys.
 */
export async function listKeys(
  em: Em,
  { workspaceId, channelIds }: Pick<Caller, 'workspaceId' | 'channelIds'>,
): Promise<KeyView[]> {
  const rows = await query(
    em,
    sql<KeyRow>`select ${keyColumns} from api_keys
      where workspace_id = ${workspaceId} and revoked_at is null
        and (${channelIds}::uuid[] is null or channel_ids <@ ${channelIds}::uuid[]) order by created_at, id`,
  );
  return rows.map(presentKey);
}
