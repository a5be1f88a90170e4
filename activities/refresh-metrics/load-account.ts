import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { ChannelAccount } from '../account/channel-account.ts';
import type { ActivityDeps } from '../deps.ts';

export type ReadAccount = ChannelAccount & {
  /** When its followers were asked for last; null when never. */
  readonly followersUpdatedAt: Date | null;
};

type Row = {
  platform: string;
  base_url: string;
  remote_id: string;
  handle: string;
  settings: Json;
  sealed_credentials: string;
  sealed_session: string | null;
  followers_updated_at: Date | null;
  sealed_grant: string | null;
  refreshed_at: Date | null;
};

/** @returns null when the channel has no access by now. */
export async function loadAccount(
  { orm }: Pick<ActivityDeps, 'orm'>,
  workspaceId: string,
  channelId: string,
): Promise<ReadAccount | null> {
  const [row] = await query(
    orm.em.fork(),
    sql<Row>`select c.platform, c.base_url, c.remote_id, c.handle, c.settings, c.sealed_credentials, c.sealed_session,
        c.followers_updated_at, g.sealed_grant, g.refreshed_at
      from channels c left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.id = ${channelId} and c.workspace_id = ${workspaceId}
        and c.disconnected_at is null and c.state = 'connected'`,
  );
  return row ? accountOf(row, { workspaceId, channelId }) : null;
}

const accountOf = (
  row: Row,
  key: Pick<ChannelAccount, 'workspaceId' | 'channelId'>,
): ReadAccount => ({
  ...key,
  platform: row.platform,
  baseUrl: row.base_url,
  followersUpdatedAt: row.followers_updated_at,
  account: {
    remoteId: row.remote_id,
    handle: row.handle,
    settings: row.settings,
    sealedCredentials: row.sealed_credentials,
    sealedSession: row.sealed_session,
    grant:
      row.sealed_grant === null
        ? null
        : { sealed: row.sealed_grant, refreshedAt: row.refreshed_at },
  },
});
