import { Channel } from '../../db/entities/channel.ts';
import type { Em } from '../../db/orm.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { NextTry } from '../../domain/next-try.ts';
import type { ActivityDeps } from '../deps.ts';
import type { Setback } from './setback.ts';
import type { PublishTarget } from './target.ts';

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
  deps: ActivityDeps,
  { workspaceId, channelId }: PublishTarget,
  error: string,
  starts: 'workflow' | 'outbox',
): Promise<string[]> {
  const changed = await em.execute<{ id: string }[]>(
    `update channels set state = 'needs_reconnect', error = ?, sealed_session = null, updated_at = ?
     where id = ? and workspace_id = ? and state = 'connected' returning id`,
    [error, deps.now(), channelId, workspaceId],
  );
  if (changed.length === 0) {
    return [];
  }

  const { id, platform, handle } = await em.findOneOrFail(Channel, { id: channelId, workspaceId });
  return recordEvent(em, {
    workspaceId,
    channelId,
    type: 'channel.needs_reconnect',
    data: { channel: { id, platform, handle, error } },
    ...(starts === 'outbox' && { byOutbox: true }),
  });
}

/** In milliseconds; more than nothing, so that accounts which are connected and refused in turns make no loop. */
const newAccessWaitMs = 1000;

/** What follows where the network refused an access that the channel no longer has. */
export const withNewAccess = (
  deps: ActivityDeps,
): { readonly setback: Setback; readonly next: NextTry } => ({
  setback: {
    code: 'network_unavailable',
    message: 'The account was connected again while the network refused its old access.',
    limit: 'channel',
  },
  next: { kind: 'retry', atMs: deps.now().getTime() + newAccessWaitMs, counts: false },
});

/**
 * Whether the account was connected again since the try read its access: then what the network refused is not what the
 * channel has. Its row stays locked, so that this is still so when the access is marked lost.
 */
export async function isReconnected(
  em: Em,
  { workspaceId, channelId, account }: PublishTarget,
): Promise<boolean> {
  const [channel] = await em.execute<{ is_reconnected: boolean }[]>(
    `select sealed_credentials <> ? as is_reconnected from channels
     where id = ? and workspace_id = ? for no key update`,
    [account.sealedCredentials, channelId, workspaceId],
  );
  return channel?.is_reconnected ?? false;
}

/** Deliveries about this channel that no attempt was made of yet: a try that lost its result finds them here. */
export async function waitingReconnectDeliveries(
  deps: ActivityDeps,
  { workspaceId, channelId }: PublishTarget,
): Promise<string[]> {
  const rows = await deps.orm.em.fork().execute<{ id: string }[]>(
    `select d.id from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where e.channel_id = ? and d.workspace_id = ? and d.status = 'pending'
       and not exists (select 1 from delivery_attempts a where a.delivery_id = d.id)`,
    [channelId, workspaceId],
  );
  return rows.map(({ id }) => id);
}
