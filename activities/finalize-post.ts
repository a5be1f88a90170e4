import { sql } from 'kysely';
import type { Post } from '../db/entities/posts.ts';
import { failedValues, isOpenChannel, unconfirmedValues } from '../db/channel-status.ts';
import { hasOpenPart } from '../db/ledger/parts.ts';
import { loadPostView, type PostPresentation } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { query } from '../db/query.ts';
import { eventWithDeliveries, startedDeliveries } from '../db/record-event.ts';
import { lockPost } from '../db/repositories/posts.ts';
import { doubtLostResult, type Published } from '../db/restore-counter.ts';
import { summedMetrics } from '../db/sum-metrics.ts';
import { stopPost } from '../domain/channel-changes.ts';
import type { PostView } from '../domain/post-view.ts';
import {
  endedOutcome,
  finalEventType,
  isFinal,
  outcomeOf,
  statusOfBegunPost,
} from '../domain/statuses.ts';
import type { ActivityDeps } from './deps.ts';

export type FinalizeRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The post's revision at the workflow's claim. A post with a higher one goes on. */
  readonly revision: number;
  readonly published?: Published;
  /** The workflow was cancelled in the Temporal UI. `revision` is then the highest one that it knows. */
  readonly isCancelled?: boolean;
};

export const endOfPost = ({ channels }: PostView) => ({
  outcome: endedOutcome(channels.map(({ status }) => status)),
  channels: channels.map(
    ({ channel_id: channelId, platform: network, handle, status, error_code: code }) => {
      return { channelId, network, handle, status, code };
    },
  ),
});

export type Finalized = {
  /** Null if the post has not ended: it was cancelled, scheduled again or retried. */
  readonly end: ReturnType<typeof endOfPost> | null;
  readonly deliveryIds: readonly string[];
};

type Scope = { readonly workspaceId: string; readonly postId: string };
type LockedPost = Pick<Post, 'status' | 'run' | 'revision'>;

/**
 * Ends a post in one transaction: its channels, its status, its final event and the deliveries of that event. Changes
 * after the workflow's claim are left alone, and pending deliveries are returned again in case a result was lost.
 */
export async function finalizePost(
  deps: ActivityDeps,
  request: FinalizeRequest,
): Promise<Finalized> {
  const finalized = await finalize(deps, request);
  const { end } = finalized;
  if (end && end.outcome !== 'published') {
    const channels = end.channels.map(({ channelId, network, status, code }) => {
      return { channel: channelId, network, status, code };
    });
    const { workspaceId, postId } = request;
    const line = { workspace: workspaceId, post: postId, outcome: end.outcome, channels };
    deps.log.info(line, 'the post was not published on every channel');
  }

  return finalized;
}

function finalize(deps: ActivityDeps, request: FinalizeRequest): Promise<Finalized> {
  const { workspaceId, postId, published = {}, isCancelled = false } = request;
  const scope = { workspaceId, postId };
  return deps.orm.em.fork().transactional(async (em): Promise<Finalized> => {
    const [post] = await query(
      em,
      sql<LockedPost>`
        select status, run, revision from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
    );
    if (!post) {
      return { end: null, deliveryIds: [] };
    }

    const view = await loadLocked(em, scope, deps);
    const hasEnded = view.channels.every(({ status }) => isFinal(status));
    const isWhole = view.channels.every(({ status }) => status === 'published');
    if (!isWhole && (await doubtLostResult(em, scope, published))) {
      return { end: null, deliveryIds: [] };
    }

    if (!isToEnd(post, request)) {
      const isOver = post.status === 'published' || post.status === 'failed';
      const deliveryIds = await pendingDeliveries(em, scope);
      return { end: isOver ? endOfPost(view) : null, deliveryIds };
    }

    if (hasEnded) {
      return endPost(em, deps, scope, post.run, view);
    }

    if (isCancelled) {
      stopPost(await lockPost(em, scope), deps.now());
      return { end: null, deliveryIds: [] };
    }

    await failChannels(em, scope);
    return endPost(em, deps, scope, post.run, await loadLocked(em, scope, deps));
  });
}

/** Whether the post is as the workflow knows it. A cancel in the Temporal UI also ends one that waits for its time. */
const isToEnd = (
  { status, revision }: LockedPost,
  { revision: known, isCancelled = false }: FinalizeRequest,
): boolean =>
  revision <= known && (status === 'publishing' || (isCancelled && status === 'scheduled'));

const noAnswerText =
  'The network was asked to publish but did not respond, so it may or may not have the post. Check the account, then settle this channel.';
const tooLate =
  'The post was not published on this channel within a day of its time. Retry the post to publish it now.';

/** Ends the channels whose activity timed out, with the error code of the last attempt. */
async function failChannels(em: Em, scope: Scope): Promise<void> {
  const open = sql`pc.post_id = ${scope.postId} and pc.workspace_id = ${scope.workspaceId} and ${isOpenChannel}`;
  // Lock first, so that no send begins between the statements: see `markSending`.
  await query(em, sql`select 1 from post_channels pc where ${open} order by id for update`);
  await query(
    em,
    sql`update post_channels pc set ${unconfirmedValues(noAnswerText)} where ${open} and ${hasOpenPart}`,
  );
  const code = sql<string>`coalesce(pc.error_code, 'too_late')`;
  await query(
    em,
    sql`update post_channels pc set ${failedValues({ code, error: tooLate })} where ${open}`,
  );
}

async function endPost(
  em: Em,
  deps: ActivityDeps,
  { workspaceId, postId }: Scope,
  run: number,
  view: PostView,
): Promise<Finalized> {
  const now = deps.now();
  const channels = view.channels.map(({ status }) => status);
  const type = finalEventType(channels);
  if (type === null) {
    throw new Error(`A channel of the post ${postId} has not ended.`);
  }

  const status = statusOfBegunPost(channels);
  // Same content as the updated row, without reading it again.
  const outcome = outcomeOf(status, channels);
  const post: PostView = { ...view, status, outcome, updated_at: now.toISOString() };
  const event = { workspaceId, type, data: { post }, final: { postId, run } };
  const started = await query(
    em,
    sql<{ id: string }>`
      with ended as (
        update posts set status = ${status}, updated_at = ${now}
        where id = ${postId} and workspace_id = ${workspaceId}),
      ${summedMetrics(workspaceId, [postId])},
      ${eventWithDeliveries({ event })}
      ${startedDeliveries}`,
  );
  return { end: endOfPost(view), deliveryIds: started.map(({ id }) => id) };
}

/** Under the post's lock, so that it exists. */
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
