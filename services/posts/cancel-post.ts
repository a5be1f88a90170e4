import { sql } from 'kysely';
import { recordAudit } from '../../db/audit.ts';
import { lockChannels, stopChannels } from '../../db/channel-status.ts';
import type { PostPresentation } from '../../db/load-post-view.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { AppError } from '../../domain/errors.ts';
import { isFinal } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { PostChange } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { lockPost } from './read-posts.ts';

type Cancelled = {
  /** How many channels will still finish. */
  readonly stillSending: number;
  readonly toSync: PostToSync;
};

/**
 * Makes a scheduled or publishing post a draft. Channels that have not begun, or wait for a retry, become drafts, or
 * failed if a part of a thread is live. Attempts that have begun finish; what they leave in doubt is reconciled, and
 * nothing more is sent.
 *
 * @throws AppError `not_found` or `post_not_cancellable`.
 */
export async function cancelPost(
  deps: Pick<ServiceDeps, 'orm' | 'now'> & PostPresentation,
  change: PostChange,
): Promise<Cancelled> {
  const { workspaceId, postId } = change;
  const scope = { workspaceId, postId };
  const { revision, stillSending } = await deps.orm.em.fork().transactional(async (em) => {
    await assertCancellable(em, change);
    await stopChannels(em, scope);
    const after = await lockChannels(em, scope);
    const [post] = await query(
      em,
      sql<{ revision: number }>`
        update posts set status = 'draft', scheduled_at = null, retried_at = null, revision = revision + 1,
          updated_at = ${deps.now()}
        where id = ${postId} and workspace_id = ${workspaceId} returning revision`,
    );
    await recordPostEvent(em, scope, 'post.cancelled', deps);
    await recordAudit(em, change, 'post.cancelled', postId);
    return {
      revision: post?.revision ?? 0,
      stillSending: after.filter((status) => status === 'publishing' || status === 'retrying')
        .length,
    };
  });
  const { requestId } = change;
  const toSync = {
    ...scope,
    status: 'draft',
    revision,
    dueAt: null,
    isStillSending: stillSending > 0,
    requestId,
  };
  return { stillSending, toSync };
}

/** Locks the post and its channels. @throws AppError `not_found` or `post_not_cancellable`. */
async function assertCancellable(em: Em, change: PostChange): Promise<void> {
  const { status } = await lockPost(em, change);
  if (status !== 'scheduled' && status !== 'publishing') {
    throw notCancellable(
      `The post is ${status === 'draft' ? 'a draft' : status}; there is nothing to stop.`,
    );
  }

  const channels = await lockChannels(em, change);
  if (status === 'publishing' && channels.every(isFinal)) {
    throw notCancellable('Every channel of the post has finished; there is nothing left to stop.');
  }
}

const notCancellable = (message: string): AppError => new AppError('post_not_cancellable', message);
