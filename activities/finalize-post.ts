import { loadPostView } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { recordEvent } from '../db/record-event.ts';
import { finalEventType } from '../domain/events.ts';
import { isFinal, statusOfBegunPost, type ChannelStatus } from '../domain/post-status.ts';
import type { ActivityDeps } from './deps.ts';

export type FinalizeRequest = {
  readonly workspaceId: string;
  readonly postId: string;
  /** The highest revision that the workflow has heard of: what the row holds beyond it is not its business. */
  readonly revision: number;
  /** Whether a cancel stopped it: channels that are not final become drafts instead of failures. */
  readonly canceled: boolean;
  /** The post's revision when the workflow claimed what it ends now. Older workflows do not say. */
  readonly claimed?: number;
};

export type Finalized = {
  readonly status: 'published' | 'failed' | 'draft' | 'gone';
  /** Deliveries of final events that wait for their workflow. */
  readonly deliveryIds: readonly string[];
};

type Scope = { readonly workspaceId: string; readonly postId: string };
type PostRow = { status: string; run: number; revision: number };

/**
 * Ends a post in one transaction: its channels, its status, its one final event and the deliveries of that.
 * Safe to repeat, also when the post has been retried, or cancelled and scheduled anew, since: what was begun after the
 * workflow's claim is left alone, and the deliveries that may have been lost with an answer are returned again.
 */
export async function finalizePost(
  deps: ActivityDeps,
  request: FinalizeRequest,
): Promise<Finalized> {
  const { workspaceId, postId } = request;
  const scope = { workspaceId, postId };
  return deps.orm.em.fork().transactional(async (em): Promise<Finalized> => {
    const [post] = await em.execute<PostRow[]>(
      'select status, run, revision from posts where id = ? and workspace_id = ? for update',
      [scope.postId, scope.workspaceId],
    );
    if (!post) {
      return { status: 'gone', deliveryIds: [] };
    }

    if (hasMovedOn(post, request)) {
      if (post.status === 'scheduled') {
        await endOpenChannels(em, scope, 'scheduled');
      }

      return { status: 'gone', deliveryIds: await pendingDeliveries(em, scope) };
    }

    if (post.status === 'published' || post.status === 'failed') {
      return { status: post.status, deliveryIds: await pendingDeliveries(em, scope) };
    }

    // A draft was cancelled, whether or not the workflow has heard of it.
    const canceled = request.canceled || post.status === 'draft';
    await endOpenChannels(em, scope, canceled ? 'draft' : 'failed');
    const channels = await channelStatuses(em, scope);
    if (!channels.every(isFinal) || channels.length === 0) {
      await setStatus(em, scope, 'draft', deps.now());
      return { status: 'draft', deliveryIds: [] };
    }

    const status = statusOfBegunPost(channels) === 'published' ? 'published' : 'failed';
    await setStatus(em, scope, status, deps.now());
    const type = finalEventType(channels);
    const view = await loadPostView(em, scope.workspaceId, scope.postId, deps.publicUrl);
    const final = { postId: scope.postId, run: post.run };
    const event = { workspaceId, createdAt: deps.now(), data: { post: view }, final };
    return { status, deliveryIds: type ? await recordEvent(em, { ...event, type }) : [] };
  });
}

/**
 * Whether the post waits for another time, or is published anew: then this is not its end. A cancel is for all that
 * the workflow has heard of.
 */
const hasMovedOn = (
  { status, revision }: PostRow,
  { canceled, revision: heard, claimed }: FinalizeRequest,
): boolean =>
  (status === 'scheduled' && (!canceled || revision > heard)) ||
  (status === 'publishing' && revision > (canceled ? heard : (claimed ?? heard)));

/**
 * A channel that is not final here was stopped: by a cancel, or because its activity ran out of time. Where a
 * request may have left and nobody has asked the network since, the outcome is unconfirmed.
 *
 * @param end What the others become.
 */
async function endOpenChannels(
  em: Em,
  scope: Scope,
  end: 'draft' | 'scheduled' | 'failed',
): Promise<void> {
  const ids = [scope.postId, scope.workspaceId];
  const open = `post_id = ? and workspace_id = ? and status in ('scheduled', 'publishing', 'retrying')`;
  // First, so that no send of theirs begins between the two statements: see `markSending`.
  await em.execute(
    'select id from post_channels where post_id = ? and workspace_id = ? order by id for update',
    ids,
  );
  await em.execute(
    `update post_channels pc set status = 'unconfirmed', error_code = 'unconfirmed', retry_at = null,
       error = 'The network was asked to publish and its answer never came, so it may or may not have the post. Look at the account, then settle this channel.'
     where ${open} and exists (select 1 from publish_attempts a
       where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id and a.state in ('sending', 'unknown'))`,
    ids,
  );
  await em.execute(
    end === 'failed'
      ? `update post_channels set status = ?, retry_at = null, error_code = coalesce(error_code, 'too_late'),
           error = coalesce(error, 'The channel was given up a day after its time.') where ${open}`
      : `update post_channels set status = ?, retry_at = null, error = null, error_code = null where ${open}`,
    [end, ...ids],
  );
}

async function channelStatuses(em: Em, scope: Scope): Promise<ChannelStatus[]> {
  const rows = await em.execute<{ status: ChannelStatus }[]>(
    'select status from post_channels where post_id = ? and workspace_id = ?',
    [scope.postId, scope.workspaceId],
  );
  return rows.map(({ status }) => status);
}

/** A draft has no time. */
async function setStatus(em: Em, scope: Scope, status: string, now: Date): Promise<void> {
  await em.execute(
    `update posts set status = ?, updated_at = ?,
       scheduled_at = case when ? = 'draft' then null else scheduled_at end
     where id = ? and workspace_id = ?`,
    [status, now, status, scope.postId, scope.workspaceId],
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
