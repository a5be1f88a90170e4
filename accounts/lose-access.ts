import { sql } from 'kysely';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { recordEvent } from '../db/record-event.ts';
import type { AccountDeps } from './deps.ts';
import type { ChannelKey } from './grants.ts';

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
