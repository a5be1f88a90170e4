import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { recordEvent } from '../db/record-event.ts';
import type { AccountDeps } from './deps.ts';
import { openGrant, type ChannelKey } from './grants.ts';

/**
 * The network no longer accepts this channel's access: it needs reconnecting, and its owner hears of it once,
 * however many posts run into it. In the transaction that ends the post's channel, so that a try after a crash finds
 * both or neither.
 *
 * @param starts Who starts the event's deliveries: nobody reads what a try returns that is made again.
 * @returns the ids of the deliveries to start.
 */
export async function loseAccess(
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
 * A channel that was believed lost and works is connected again. Nothing changes when the account was connected anew
 * meanwhile, or when the network ended its grant and the last access token still lasts for minutes: that is no way back.
 *
 * @param sealedCredentials As they were when the network let us in.
 */
export async function regainAccess(
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
