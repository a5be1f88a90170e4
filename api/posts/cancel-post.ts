import { AppError } from '../../domain/errors.ts';
import { isFinal, type ChannelStatus } from '../../domain/post-status.ts';
import type { Em } from '../../db/orm.ts';
import { voidShares } from '../../db/quota-shares.ts';
import type { ApiDeps } from '../deps.ts';
import { stopChannels } from './stop-channels.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };

/**
 * Makes a scheduled or publishing post a draft. Channels that have not begun, and those that wait for an automatic
 * retry, become drafts; those that are being sent finish and keep their result, and so do those that the network may
 * have: they are looked for.
 *
 * @returns how many finish.
 * @throws AppError `not_found` or `post_not_cancellable`.
 */
export async function cancelPost(deps: ApiDeps, scope: Scope): Promise<number> {
  const { workspaceId, postId } = scope;
  const { revision, stillSending } = await deps.orm.em.fork().transactional(async (em) => {
    const [post] = await em.execute<{ status: string }[]>(
      'select status from posts where id = ? and workspace_id = ? for update',
      [postId, workspaceId],
    );
    if (!post) {
      throw new AppError('not_found', `There is no post "${postId}".`);
    }

    if (post.status !== 'scheduled' && post.status !== 'publishing') {
      throw notCancellable(
        `The post is ${post.status === 'draft' ? 'a draft' : post.status}; there is nothing to stop.`,
      );
    }

    const before = await channelStatuses(em, scope);
    if (post.status === 'publishing' && before.every(isFinal)) {
      throw notCancellable(
        'Every channel of the post has finished; there is nothing left to stop.',
      );
    }

    await stopChannels(em, scope);
    const after = await channelStatuses(em, scope);

    const [row] = await em.execute<{ revision: number }[]>(
      `update posts set status = 'draft', scheduled_at = null, retried_at = null, revision = revision + 1, updated_at = ?
       where id = ? and workspace_id = ? returning revision`,
      [deps.now(), postId, workspaceId],
    );
    await voidShares(em, workspaceId);
    return {
      revision: row?.revision ?? 0,
      stillSending: after.filter((status) => status === 'publishing' || status === 'retrying')
        .length,
    };
  });
  const isUnfinished = stillSending > 0;
  deps.syncPost({ workspaceId, postId, status: 'draft', revision, dueAt: null, isUnfinished });
  return stillSending;
}

async function channelStatuses(em: Em, { workspaceId, postId }: Scope): Promise<ChannelStatus[]> {
  const rows = await em.execute<{ status: ChannelStatus }[]>(
    'select status from post_channels where post_id = ? and workspace_id = ? order by id for update',
    [postId, workspaceId],
  );
  return rows.map(({ status }) => status);
}

const notCancellable = (message: string): AppError => new AppError('post_not_cancellable', message);
