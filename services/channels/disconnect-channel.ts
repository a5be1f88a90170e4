import { recordAudit, type Actor } from '../../db/audit.ts';
import { countOpenPosts } from '../../db/repositories/channels.ts';
import { recordEvent } from '../../db/record-event.ts';
import { eraseChannels, lockChannel, type ChannelKey } from '../../db/repositories/channels.ts';
import type { ServiceDeps } from '../deps.ts';

export type Disconnected = {
  readonly channel: { readonly id: string; readonly platform: string; readonly handle: string };
  /** Posts that fail on the channel at their time, unless the account is connected again before. */
  readonly scheduled_posts: number;
};

/**
 * Disconnects a channel: erases its secrets and emits one event. Its posts keep it, and those that are to be sent fail
 * there at their time, unless the account was connected again. Each intent to send holds the channel, so it commits
 * before this and is counted, or finds the channel disconnected.
 */
export async function disconnectChannel(
  { orm, now }: Pick<ServiceDeps, 'orm' | 'now'>,
  change: Actor & ChannelKey,
): Promise<Disconnected & { readonly still_sending: number }> {
  const { workspaceId, channelId } = change;
  return orm.em.fork().transactional(async (em) => {
    const { platform, handle } = await lockChannel(em, change);
    const { scheduled, sending } = await countOpenPosts(em, change);
    await eraseChannels(em, workspaceId, now(), channelId);
    await recordAudit(em, change, 'channel.disconnected', channelId);
    const channel = { id: channelId, platform, handle };
    const data: Disconnected = { channel, scheduled_posts: scheduled };
    const type = 'channel.disconnected';
    await recordEvent(em, { workspaceId, channelId, type, data, byOutbox: true });
    return { ...data, still_sending: sending };
  });
}
