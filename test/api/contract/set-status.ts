import type { ChannelStatus, PostStatus } from '../../../domain/post-status.ts';
import type { Punctual } from '../../support/punctual.ts';

/** Puts a post and its channels, in their order, into a state that only a worker brings them to. */
export async function setStatus(
  { orm }: Punctual,
  postId: string,
  status: PostStatus,
  channels: readonly ChannelStatus[] = [],
): Promise<void> {
  const em = orm.em.fork();
  const isOut = channels.includes('published');
  await em.execute(
    `update posts set status = ?, published_at = case when ? then now() else published_at end where id = ?`,
    [status, isOut, postId],
  );
  for (const [position, channelStatus] of channels.entries()) {
    const hasFailed = ['failed', 'unconfirmed', 'retrying'].includes(channelStatus);
    await em.execute(
      `update post_channels set status = ?, error = ?, error_code = ?, retry_at = ?, url = ?, sent_text = ?
       where post_id = ? and position = ?`,
      [
        channelStatus,
        hasFailed ? 'The network did not answer.' : null,
        hasFailed
          ? channelStatus === 'unconfirmed'
            ? 'unconfirmed'
            : 'network_unavailable'
          : null,
        channelStatus === 'retrying' ? new Date(Date.now() + 60_000) : null,
        channelStatus === 'published' ? `https://social.test/${position}` : null,
        channelStatus === 'published' ? 'As it went out' : null,
        postId,
        position,
      ],
    );
  }
}
