import { recordAudit } from '../../db/audit.ts';
import type { PostPresentation } from '../../db/load-post-view.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { lockPost, type WholePost } from '../../db/repositories/posts.ts';
import { stopPost } from '../../domain/channel-changes.ts';
import { AppError } from '../../domain/errors.ts';
import { isFinal, isUnderWay } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import type { PostChange } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';

/**
 * Makes a scheduled or publishing post a draft. Attempts that have begun finish; what they leave in doubt is reconciled,
 * and nothing more is sent.
 */
export async function cancelPost(
  deps: Pick<ServiceDeps, 'orm' | 'now'> & PostPresentation,
  change: PostChange,
) {
  const { workspaceId, postId, requestId } = change;
  const scope = { workspaceId, postId };
  return deps.orm.em.fork().transactional(async (em) => {
    const whole = await lockPost(em, change);
    assertCancellable(whole);
    const { post } = whole;
    stopPost(whole, deps.now());
    post.retriedAt = null;
    post.revision += 1;
    await em.flush();
    await recordPostEvent(em, scope, 'post.cancelled', deps);
    await recordAudit(em, change, 'post.cancelled', postId);
    const stillSending = whole.channels.filter(({ row }) => isUnderWay(row.status)).length;
    const toSync: PostToSync = {
      ...scope,
      status: 'draft',
      revision: post.revision,
      dueAt: null,
      isStillSending: stillSending > 0,
      requestId,
    };
    return { stillSending, toSync };
  });
}

function assertCancellable({ post: { status }, channels }: WholePost): void {
  if (status !== 'scheduled' && status !== 'publishing') {
    throw notCancellable(
      `The post is ${status === 'draft' ? 'a draft' : status}; there is nothing to stop.`,
    );
  }

  if (status === 'publishing' && channels.every(({ row }) => isFinal(row.status))) {
    throw notCancellable('Every channel of the post has finished; there is nothing left to stop.');
  }
}

const notCancellable = (message: string): AppError => new AppError('post_not_cancellable', message);
