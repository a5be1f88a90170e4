import { ask } from '../../db/ask.ts';
import type { Em } from '../../db/orm.ts';
import { lockClaims } from '../../db/ledger/claims.ts';
import { AppError } from '../../domain/errors.ts';

type SettledChannel = {
  readonly workspaceId: string;
  readonly channelId: string;
  readonly postChannelId: string;
};

/**
 * Two posts are never at one address: that of another post of the channel, or of a part of it, says nothing of this one.
 * Until the transaction's end nobody else finds or settles any of the channel's posts.
 *
 * @param url As `settledUrl` writes it.
 * @throws AppError `nothing_to_settle`
 */
export async function mustBeNobodyElses(
  em: Em,
  { workspaceId, channelId, postChannelId }: SettledChannel,
  url: string,
): Promise<void> {
  await lockClaims(em, channelId);
  // The ledger has what networks said and people settled; where a restored database had nothing, the channel alone has it.
  const [other] = await ask<{ post_id: string }>(
    em,
    `select post_id from post_channels where workspace_id = $2 and id in (
       select a.post_channel_id from post_parts a
       where a.channel_id = $1 and a.workspace_id = $2 and a.url = $3 and a.post_channel_id <> $4 and a.state <> 'refused'
       union all
       select pc.id from post_channels pc
       where pc.channel_id = $1 and pc.workspace_id = $2 and pc.settled_at is not null and pc.url = $3 and pc.id <> $4)
     limit 1`,
    [channelId, workspaceId, url, postChannelId],
  );
  if (other) {
    const message = `At this address is post ${other.post_id} of this channel, and two posts are never at one. Look for that of this post, or say that it is not there.`;
    const details = [{ path: '/url', message }];
    throw new AppError('nothing_to_settle', message, { details });
  }
}
