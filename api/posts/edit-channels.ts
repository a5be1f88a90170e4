import { LockMode } from '@mikro-orm/core';
import { PostChannel } from '../../db/entities/post-channel.ts';
import type { Post } from '../../db/entities/post.ts';
import { endIfPublished } from '../../db/end-anew.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { chooseChannels, mustBeChosen } from './choose-channels.ts';
import type { ChosenChannel } from './judge-post.ts';
import type { EditPostBody } from './schemas.ts';

export type EditedChannels = {
  /** Those that the post is yet to be sent to. */
  readonly open: readonly ChosenChannel[];
  /** Those that a send began on before the post was cancelled, and that finish it. */
  readonly sending: readonly ChosenChannel[];
  /** Rows that stay, by channel id. */
  readonly kept: ReadonlyMap<string, PostChannel>;
  readonly removed: readonly PostChannel[];
  /** All channel ids of the edited post, in their order. */
  readonly order: readonly string[];
  /** The channels' own texts before the edit, by channel id. */
  readonly overrides: Readonly<Record<string, string>>;
};

/**
 * Which channels a post has after an edit. A channel that has the post, or may have it, stays whatever `channel_ids`
 * says, and is never sent to again.
 *
 * @throws AppError `invalid_channel_ids`
 */
export async function editChannels(
  em: Em,
  post: Post,
  request: EditPostBody,
): Promise<EditedChannels> {
  const { id: postId, workspaceId } = post;
  const rows = await em.find(
    PostChannel,
    { postId, workspaceId },
    { orderBy: { position: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const given = request.channel_ids ?? rows.map(({ channelId }) => channelId);
  const wanted = await chooseChannels(em, workspaceId, given);
  const ids = new Set(wanted.map(({ id }) => id));
  const kept = rows.filter((row) => ids.has(row.channelId) || !canBeSent(row));
  const removed = rows.filter((row) => !kept.includes(row));
  await mustBeUntouched(em, workspaceId, removed);
  const order = [...new Set([...ids, ...kept.map(({ channelId }) => channelId)])];
  mustBeChosen(order, request.channel_bodies ?? {});
  const byChannel = new Map(kept.map((row) => [row.channelId, row]));
  const sending = rows.filter(({ status }) => status === 'publishing' || status === 'retrying');
  return {
    sending: sending.length
      ? await chooseChannels(
          em,
          workspaceId,
          sending.map(({ channelId }) => channelId),
        )
      : [],
    open: wanted.filter(({ id }) => canBeSent(byChannel.get(id))),
    kept: byChannel,
    removed,
    order,
    overrides: Object.fromEntries(
      kept.flatMap((row) => (row.body === null ? [] : [[row.channelId, row.body]])),
    ),
  };
}

/** Not published, not being sent, and nobody in doubt about it. A channel that is new to the post can be. */
const canBeSent = (row: PostChannel | undefined): boolean =>
  row === undefined || ['draft', 'scheduled', 'failed'].includes(row.status);

/**
 * A channel on which part of a thread is live cannot be taken off the post: nobody would know any more that it is
 * there, and adding the channel again would send that part a second time.
 */
async function mustBeUntouched(
  em: Em,
  workspaceId: string,
  removed: readonly PostChannel[],
): Promise<void> {
  const touched = removed.length
    ? await em.execute<{ channel_id: string }[]>(
        `select distinct channel_id from post_parts
         where post_channel_id in (?) and workspace_id = ? and state in ('sending', 'sent')`,
        [removed.map(({ id }) => id), workspaceId],
      )
    : [];
  if (touched.length > 0) {
    const message = `A part of the thread is live on ${touched.map((row) => row.channel_id).join(', ')}, so it stays among the post's channels.`;
    throw new AppError('invalid_channel_ids', message, {
      details: [{ path: '/channel_ids', message }],
    });
  }
}

/** A cancelled post that loses the channels that it was not sent to may have nothing left to publish. */
export async function endWithout(
  em: Em,
  { id: postId, workspaceId }: Post,
  { removed }: EditedChannels,
  at: { readonly publicUrl: string; readonly now: Date },
): Promise<void> {
  if (removed.length > 0) {
    await em.flush();
    await endIfPublished(em, { workspaceId, postId }, at);
  }
}
