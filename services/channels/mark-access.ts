import { sql } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { recordEvent } from '../../db/record-event.ts';
import { openGrant, type ChannelKey } from './grants.ts';
import type { AccountDeps } from './oauth-context.ts';

/**
 * Marks the channel as `needs_reconnect` after the network refused its access. Emits one event, however many posts run
 * into it. Runs in the transaction that ends the post's channel, so that an attempt after a crash finds both or
 * neither.
 *
 * @param starts Who starts the deliveries: `outbox` when the caller's return value may be lost.
 * @returns the ids of the deliveries to start.
 */
export async function markAccessLost(
  em: Em,
  { now }: Pick<AccountDeps, 'now'>,
  { workspaceId, channelId }: ChannelKey,
  error: string,
  starts: 'workflow' | 'outbox',
): Promise<string[]> {
  const [channel] = await query(
    em,
    sql<{ id: string; platform: string; handle: string }>`
      update channels set state = 'needs_reconnect', error = ${error}, sealed_session = null, updated_at = ${now()}
      where id = ${channelId} and workspace_id = ${workspaceId} and state = 'connected' and disconnected_at is null
      returning id, platform, handle`,
  );
  if (!channel) {
    return [];
  }

  return recordEvent(em, {
    workspaceId,
    channelId,
    type: 'channel.needs_reconnect',
    data: { channel: { ...channel, error } },
    ...(starts === 'outbox' && { byOutbox: true }),
  });
}

/**
 * Marks a channel as connected again. Changes nothing when the account was reconnected meanwhile, or when the network
 * ended the grant and only the last access token still works: that token cannot be renewed.
 *
 * @param sealedCredentials The ones that the network accepted.
 */
export async function markAccessRestored(
  em: Em,
  { now, sealer }: Pick<AccountDeps, 'now' | 'sealer'>,
  { workspaceId, channelId }: ChannelKey,
  sealedCredentials: string,
): Promise<void> {
  const [same] = await query(
    em,
    sql<{ sealed_grant: string | null }>`
      select g.sealed_grant from channels c
      left join channel_grants g on g.channel_id = c.id and g.workspace_id = c.workspace_id
      where c.id = ${channelId} and c.workspace_id = ${workspaceId} and c.disconnected_at is null
        and c.sealed_credentials = ${sealedCredentials} for no key update of c`,
  );
  if (!same) {
    return;
  }

  const { sealed_grant: sealed } = same;
  const grant = sealed === null ? null : openGrant(sealer, channelId, sealed);
  const isOver = grant?.refreshToken === null && grant.endsAtMs !== grant.accessEndsAtMs;
  if (!isOver) {
    await query(
      em,
      sql`update channels set state = 'connected', error = null, updated_at = ${now()}
        where id = ${channelId} and workspace_id = ${workspaceId} and state <> 'connected'`,
    );
  }
}
