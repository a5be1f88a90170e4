import { recordAudit } from '../../db/audit.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import { recordPostEvent } from '../../db/record-event.ts';
import { lockPost, removePost, type PostOnChannel } from '../../db/repositories/posts.ts';
import { postNotFound } from '../../domain/api-keys.ts';
import { stopPost } from '../../domain/channel-changes.ts';
import { AppError } from '../../domain/errors.ts';
import { isOpen, isSent, mayBeLive } from '../../domain/live-parts.ts';
import { isFinal, isUnderWay } from '../../domain/statuses.ts';
import type { PostToSync } from '../../domain/to-sync.ts';
import { longestAppearanceMs } from '../../networks/content-rules.ts';
import type { PostChange } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { expireKey } from '../idempotency.ts';
import { namesOfChannels, settleFirst } from './choose-channels.ts';

/**
 * Cancels a post if necessary and deletes it with its results and metrics. Nothing is sent afterwards: an attempt reads
 * the rows of the post and its channel under their locks before each request. Events stay, and so do live parts in the
 * ledger, which no other post may claim.
 */
export async function deletePost(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'rules' | 'publicUrl'>,
  change: PostChange,
) {
  const { workspaceId, postId } = change;
  const scope = { workspaceId, postId };
  const now = deps.now();
  return deps.orm.em.fork().transactional(async (em) => {
    const whole = await lockPost(em, change);
    const { post, channels } = whole;
    const { status } = post;
    if (status === 'publishing' && channels.every(({ row }) => isFinal(row.status))) {
      throw beingSent(
        'The post is ending: its final event is being recorded. Try again in a moment.',
      );
    }

    const view = await loadPostView(em, workspaceId, postId, deps);
    if (!view) {
      throw postNotFound(postId);
    }

    const isGoingOut = status === 'scheduled' || status === 'publishing';
    if (isGoingOut) {
      stopPost(whole, now);
    }

    assertNoneBeingSent(postId, channels, now.getTime() - longestAppearanceMs(deps.rules));
    // The workflow that removes it would find no post, and leave it on the network.
    if (post.isBeingRemoved) {
      throw beingSent(
        'The post is being removed from its networks. Delete it after the event post.unpublished.',
      );
    }

    if (isGoingOut) {
      await em.flush();
      await recordPostEvent(em, scope, 'post.cancelled', deps);
    }

    await removePost(em, whole, now);
    // Last, the order in which the creation of a post locks: workspace, then key.
    await expireKey(em, scope, now);
    await recordAudit(em, change, 'post.deleted', postId);
    const toSync: PostToSync = {
      ...scope,
      status: 'draft',
      revision: post.revision + 1,
      dueAt: null,
    };
    // A post that had ended has no workflow.
    const hasWorkflow = isGoingOut || status === 'draft';
    return { live: channels.flatMap(liveOf), post: view, toSync: hasWorkflow ? toSync : null };
  });
}

/** @param since Time from which on a request may still publish its post, in milliseconds since 1970. */
function assertNoneBeingSent(
  postId: string,
  channels: readonly PostOnChannel[],
  since: number,
): void {
  const sending = channels.filter(
    ({ row, parts }) =>
      isUnderWay(row.status) ||
      parts.some((part) => isOpen(part) && (part.sendingAt?.getTime() ?? 0) > since),
  );
  if (sending.length > 0 && sending.every(({ row }) => row.status === 'unconfirmed')) {
    throw beingSent(
      `${settleFirst(postId, sending)} Or try again in a few minutes, when its request can no longer publish it.`,
    );
  }

  if (sending.length > 0) {
    throw beingSent(
      `The post is being sent on ${namesOfChannels(sending)}, or a request of the last five minutes may still publish it there. Try again in a few minutes; POST /posts/${postId}/cancel stops channels that have not begun.`,
    );
  }
}

const beingSent = (message: string): AppError => new AppError('post_being_sent', message);

/** The post on a network where it stays: confirmed, or possibly there. */
function liveOf({ row, account: { id, platform }, parts }: PostOnChannel) {
  const confirmed = row.status === 'published' || parts.some(isSent);
  const isOrMayBe = confirmed || row.status === 'unconfirmed' || parts.some(mayBeLive);
  const url = row.url ?? parts.find(isSent)?.url ?? null;
  return isOrMayBe && row.goneAt === null ? [{ channel_id: id, platform, url, confirmed }] : [];
}
