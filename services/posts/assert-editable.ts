import { sql } from 'kysely';
import type { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import type { ChannelStatus } from '../../domain/statuses.ts';
import type { PostScope } from '../context.ts';
import { settleFirst, type ChosenChannel } from './choose-channels.ts';

/** @throws AppError `post_not_editable`, which names the next step. */
export async function assertEditable(
  em: Em,
  scope: PostScope,
  { status }: Pick<Post, 'status'>,
): Promise<void> {
  if (status !== 'draft' && status !== 'scheduled') {
    // A copy of a post that is still going out would be published beside it.
    const next =
      status === 'publishing'
        ? `POST /posts/${scope.postId}/cancel makes it a draft, except for channels that are being sent.`
        : await copyOf(em, scope);
    const message = `The post is ${status}; only a draft or a scheduled post can be changed. ${next}`;
    throw new AppError('post_not_editable', message);
  }
}

/** The call that copies an ended post to no channel that has it. */
async function copyOf(em: Em, { workspaceId, postId }: PostScope): Promise<string> {
  const channels = await query(
    em,
    sql<Pick<ChosenChannel, 'id' | 'platform' | 'handle'> & { readonly status: ChannelStatus }>`
      select c.id, c.platform, c.handle, pc.status
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`,
  );
  const unconfirmed = channels.filter(({ status }) => status === 'unconfirmed');
  const hasFailed = channels.some(({ status }) => status === 'failed');
  const isPartial = hasFailed && channels.some(({ status }) => status !== 'failed');
  return unconfirmed.length > 0
    ? settleFirst(postId, unconfirmed)
    : isPartial
      ? `POST /posts/${postId}/copy with {"only": "failed"} makes a draft for the channels that failed; the others have the post.`
      : `POST /posts/${postId}/copy makes a draft of it.`;
}
