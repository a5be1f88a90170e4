import { sql } from 'kysely';
import { query } from '../../db/query.ts';
import {
  accountColumns,
  channelAccountOf,
  type AccountRow,
  type ChannelAccount,
} from '../account/channel-account.ts';
import type { ActivityDeps } from '../deps.ts';

export type ReadAccount = ChannelAccount & {
  /** Last read of the followers; null if never. */
  readonly followersUpdatedAt: Date | null;
};

type Row = AccountRow & {
  readonly platform: string;
  readonly base_url: string;
  readonly followers_updated_at: Date | null;
};

/** @returns null if the channel no longer has access. */
export async function loadAccount(
  { orm }: Pick<ActivityDeps, 'orm'>,
  workspaceId: string,
  channelId: string,
): Promise<ReadAccount | null> {
  const [row] = await query(
    orm.em.fork(),
    sql<Row>`select c.platform, c.base_url, c.followers_updated_at, ${accountColumns}
      from channels c left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.id = ${channelId} and c.workspace_id = ${workspaceId}
        and c.disconnected_at is null and c.state = 'connected'`,
  );
  return row
    ? {
        workspaceId,
        channelId,
        platform: row.platform,
        baseUrl: row.base_url,
        followersUpdatedAt: row.followers_updated_at,
        account: channelAccountOf(row),
      }
    : null;
}
