import { sql } from 'kysely';
import { loadPostView, type PostPresentation } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { db, query } from '../db/query.ts';
import { recordEvent } from '../db/record-event.ts';
import { sumMetrics } from '../db/sum-metrics.ts';
import { isFinal, outcomeOf, type PostStatus } from '../domain/statuses.ts';
import type { PostView } from '../domain/post-view.ts';
import type { ActivityDeps } from './deps.ts';
import {
  assertHasResults,
  channelEndsOf,
  endOfPost,
  endOpenChannels,
  finalStatusOf,
  isSuperseded,
  type Finalized,
  type FinalizeRequest,
} from './end-of-post.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };
type LockedPost = { status: PostStatus; run: number; revision: number };

/**
 * Ends a post in one transaction: its channels, its status, its final event and the deliveries of that event. Safe to
 * repeat, also after the post was retried, or cancelled and scheduled again: changes after the workflow's claim are
 * left alone, and pending deliveries are returned again in case an earlier result was lost.
 */
export async function finalizePost(
  deps: ActivityDeps,
  request: FinalizeRequest,
): Promise<Finalized> {
  const ended = await finalize(deps, request);
  if (ended.outcome && ended.outcome !== 'published') {
    const channels = ended.channels?.map(({ channelId, network, status, code }) => {
      return { channel: channelId, network, status, code };
    });
    const { workspaceId, postId } = request;
    const line = { workspace: workspaceId, post: postId, outcome: ended.outcome, channels };
    deps.log.info(line, 'the post was not published on every channel');
  }

  return ended;
}

function finalize(deps: ActivityDeps, request: FinalizeRequest): Promise<Finalized> {
  const { workspaceId, postId } = request;
  const scope = { workspaceId, postId };
  return deps.orm.em.fork().transactional(async (em): Promise<Finalized> => {
    const [post] = await query(
      em,
      db
        .selectFrom('posts')
        .select(['status', 'run', 'revision'])
        .where('id', '=', postId)
        .where('workspace_id', '=', workspaceId)
        .forUpdate(),
    );
    if (!post) {
      return { status: 'gone', deliveryIds: [] };
    }

    const view = await loadLocked(em, scope, deps);
    if (!hasEnded(view)) {
      await assertHasResults(deps.orm.em.fork(), scope, request.published ?? []);
    }

    if (isSuperseded(post, request)) {
      if (post.status === 'scheduled') {
        await endOpenChannels(em, scope, 'scheduled anew');
      }

      return { status: 'gone', deliveryIds: await pendingDeliveries(em, scope) };
    }

    if (post.status === 'published' || post.status === 'failed') {
      const deliveryIds = await pendingDeliveries(em, scope);
      return { status: post.status, deliveryIds, ...endOfPost(view) };
    }

    if (hasEnded(view)) {
      return endPost(em, deps, { scope, run: post.run, view, isUnfinished: false });
    }

    if (isStillWanted(post, request)) {
      return { status: 'publishing', deliveryIds: [] };
    }

    // A draft was cancelled, even if the workflow has not received the signal.
    const why = post.status === 'draft' ? 'cancelled before' : 'cancelled';
    const canceled = request.canceled || post.status === 'draft';
    const isUnfinished = await endOpenChannels(em, scope, canceled ? why : 'out of time');
    const ended = await loadLocked(em, scope, deps);
    return endPost(em, deps, { scope, run: post.run, view: ended, isUnfinished });
  });
}

/** The signal's revision was never committed, as genuine ones are: it was forged, or the database was restored. */
const isStillWanted = (
  post: LockedPost,
  { canceled, revision, claimed }: FinalizeRequest,
): boolean => post.status === 'publishing' && !canceled && revision > claimed;

const hasEnded = ({ channels }: PostView): boolean =>
  channels.every(({ status }) => isFinal(status));

type Ending = {
  readonly scope: Scope;
  readonly run: number;
  readonly view: PostView;
  readonly isUnfinished: boolean;
};

/** Stores the post's status that follows from its channels, and the final event. */
async function endPost(
  em: Em,
  deps: ActivityDeps,
  { scope, run, view, isUnfinished }: Ending,
): Promise<Finalized> {
  const now = deps.now();
  const end = finalStatusOf(view);
  if (end === null) {
    await setStatus(em, scope, 'draft', now);
    const draft = { status: 'draft', deliveryIds: [], channels: channelEndsOf(view) } as const;
    return isUnfinished ? { ...draft, unfinished: true } : draft;
  }

  const { type, status } = end;
  await setStatus(em, scope, status, now);
  await sumMetrics(em, scope.workspaceId, [scope.postId]);
  // Same content as the updated row, without reading it again.
  const outcome = outcomeOf(
    status,
    view.channels.map((channel) => channel.status),
  );
  const post: PostView = { ...view, status, outcome, updated_at: now.toISOString() };
  const deliveryIds = await recordEvent(em, {
    workspaceId: scope.workspaceId,
    type,
    data: { post },
    final: { postId: scope.postId, run },
  });
  return { status, deliveryIds, ...endOfPost(view) };
}

/** @throws Error if the post does not exist, which cannot happen under its lock. */
async function loadLocked(
  em: Em,
  { workspaceId, postId }: Scope,
  shownBy: PostPresentation,
): Promise<PostView> {
  const view = await loadPostView(em, workspaceId, postId, shownBy);
  if (!view) {
    throw new Error('The post does not exist.');
  }

  return view;
}

/** Clears the time of a draft. */
async function setStatus(em: Em, scope: Scope, status: PostStatus, now: Date): Promise<void> {
  await query(
    em,
    sql`update posts set status = ${status}, updated_at = ${now},
        scheduled_at = ${status === 'draft' ? null : sql`scheduled_at`}
      where id = ${scope.postId} and workspace_id = ${scope.workspaceId}`,
  );
}

/** The deliveries of final events, including deliveries whose workflow runs already: a second start is refused. */
async function pendingDeliveries(em: Em, { workspaceId, postId }: Scope): Promise<string[]> {
  const rows = await query(
    em,
    sql<{ id: string }>`
      select d.id from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
      where e.post_id = ${postId} and e.run is not null and e.workspace_id = ${workspaceId}
        and d.status = 'pending' order by d.id`,
  );
  return rows.map(({ id }) => id);
}
