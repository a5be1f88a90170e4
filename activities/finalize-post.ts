import { ask } from '../db/ask.ts';
import { loadPostView } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { voidShares } from '../db/quota-shares.ts';
import { recordEvent } from '../db/record-event.ts';
import {
  type ChannelStatus,
  finalEventType,
  isFinal,
  statusOfBegunPost,
} from '../domain/post-status.ts';
import type { PostView } from '../domain/post-view.ts';
import type { ActivityDeps } from './deps.ts';
import { doubtForgotten, isForgotten } from './doubt-forgotten.ts';
import { endAtOnce } from './end-at-once.ts';
import { endOpenChannels, type Why } from './end-open-channels.ts';
import { endsIn, hasMovedOn, type Finalized, type FinalizeRequest } from './post-end.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };
type PostRow = { status: string; run: number; revision: number };

/**
 * Ends a post, all at once: its channels, its status, its one final event and the deliveries of that.
 * Safe to repeat, also when the post has been retried, or cancelled and scheduled anew, since: what was begun after the
 * workflow's claim is left alone, and the deliveries that may have been lost with an answer are returned again.
 */
export async function finalizePost(
  deps: ActivityDeps,
  request: FinalizeRequest,
): Promise<Finalized> {
  const { workspaceId, postId } = request;
  const scope = { workspaceId, postId };
  const ended = await endAtOnce(deps, request);
  if (ended) {
    return ended;
  }

  return deps.orm.em.fork().transactional(async (em): Promise<Finalized> => {
    const [post] = await ask<PostRow>(
      em,
      'select status, run, revision from posts where id = $1 and workspace_id = $2 for update',
      [postId, workspaceId],
    );
    if (!post) {
      return { status: 'gone', deliveryIds: [] };
    }

    const { published = [], claimed = post.revision } = request;
    await doubtForgotten(em, scope, isForgotten(post.revision, claimed) ? 'all' : published);
    if (hasMovedOn(post, request)) {
      if (post.status === 'scheduled') {
        await endOpenChannels(em, scope, 'scheduled anew');
      }

      return { status: 'gone', deliveryIds: await pendingDeliveries(em, scope) };
    }

    if (post.status === 'published' || post.status === 'failed') {
      const deliveryIds = await pendingDeliveries(em, scope);
      const view = await mustLoad(em, scope, deps);
      return { status: post.status, deliveryIds, channels: endsIn(view) };
    }

    if (isStillWanted(post, request) && (await hasOpenChannel(em, scope))) {
      return { status: 'publishing', deliveryIds: [] };
    }

    // A draft was cancelled, whether or not the workflow has heard of it.
    const why = post.status === 'draft' ? 'cancelled before' : 'cancelled';
    const canceled = request.canceled || post.status === 'draft';
    const ending = await endChannels(em, deps, scope, canceled ? why : 'out of time');
    return endPost(em, deps, { scope, run: post.run, ...ending });
  });
}

/**
 * The workflow heard of a new time, and no such change was ever committed: the message was made up, or the database was
 * restored from a backup since. Every true one was committed before it was sent.
 */
const isStillWanted = (
  post: PostRow,
  { canceled, revision: heard, claimed }: FinalizeRequest,
): boolean => post.status === 'publishing' && !canceled && claimed !== undefined && heard > claimed;

async function hasOpenChannel(em: Em, { workspaceId, postId }: Scope): Promise<boolean> {
  const channels = await ask<{ status: ChannelStatus }>(
    em,
    'select status from post_channels where post_id = $1 and workspace_id = $2',
    [postId, workspaceId],
  );
  return channels.some(({ status }) => !isFinal(status));
}

type Ending = {
  readonly scope: Scope;
  readonly run: number;
  readonly view: PostView;
  readonly isUnfinished: boolean;
};

/** Writes down what follows from the channels. */
async function endPost(
  em: Em,
  deps: ActivityDeps,
  { scope, run, view, isUnfinished }: Ending,
): Promise<Finalized> {
  const channels = endsIn(view);
  const statuses = channels.map((channel) => channel.status);
  const now = deps.now();
  const type = finalEventType(statuses);
  if (!statuses.every(isFinal) || type === null) {
    await setStatus(em, scope, 'draft', now);
    await voidShares(em, scope.workspaceId);
    const draft = { status: 'draft', deliveryIds: [], channels } as const;
    return isUnfinished ? { ...draft, unfinished: true } : draft;
  }

  const status = statusOfBegunPost(statuses) === 'published' ? 'published' : 'failed';
  await setStatus(em, scope, status, now);
  // What the row says from now on, without reading it again.
  const post: PostView = { ...view, status, updated_at: now.toISOString() };
  const deliveryIds = await recordEvent(em, {
    workspaceId: scope.workspaceId,
    type,
    data: { post },
    final: { postId: scope.postId, run },
  });
  return { status, deliveryIds, channels };
}

/**
 * As a rule all of them have ended by themselves, and under the post's lock none begins anew.
 *
 * @returns the post with its channels as they are then, and whether a cancel lets some of them finish.
 */
async function endChannels(
  em: Em,
  deps: ActivityDeps,
  scope: Scope,
  why: Why,
): Promise<Pick<Ending, 'view' | 'isUnfinished'>> {
  const view = await mustLoad(em, scope, deps);
  if (view.channels.every(({ status }) => isFinal(status))) {
    return { view, isUnfinished: false };
  }

  const isUnfinished = await endOpenChannels(em, scope, why);
  return { view: await mustLoad(em, scope, deps), isUnfinished };
}

/** @throws Error for a post that is not there, which does not happen under its lock. */
async function mustLoad(
  em: Em,
  { workspaceId, postId }: Scope,
  deps: ActivityDeps,
): Promise<PostView> {
  const view = await loadPostView(em, workspaceId, postId, deps);
  if (!view) {
    throw new Error('The post is gone.');
  }

  return view;
}

/** A draft has no time. */
async function setStatus(em: Em, scope: Scope, status: string, now: Date): Promise<void> {
  await ask(
    em,
    `update posts set status = $1::text, updated_at = $2,
       scheduled_at = case when $1::text = 'draft' then null else scheduled_at end
     where id = $3 and workspace_id = $4`,
    [status, now, scope.postId, scope.workspaceId],
  );
}

/** Those whose workflow runs already are no trouble: a second start of it is refused. */
async function pendingDeliveries(em: Em, scope: Scope): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select d.id from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
     where e.post_id = ? and e.workspace_id = ? and d.status = 'pending' order by d.id`,
    [scope.postId, scope.workspaceId],
  );
  return rows.map(({ id }) => id);
}
