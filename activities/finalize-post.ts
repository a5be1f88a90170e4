import { ask } from '../db/ask.ts';
import { loadPostView } from '../db/load-post-view.ts';
import type { Em } from '../db/orm.ts';
import { recordEvent } from '../db/record-event.ts';
import type { ChannelErrorCode } from '../domain/channel-error.ts';
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
  /** What became of each, for people who look at the workflow; left out when this publishing was not the last. */
  readonly channels?: readonly ChannelEnd[];
};

export type ChannelEnd = {
  readonly channelId: string;
  readonly network: string;
  readonly status: ChannelStatus;
  readonly code: ChannelErrorCode | null;
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
    const [post] = await ask<PostRow>(
      em,
      'select status, run, revision from posts where id = $1 and workspace_id = $2 for update',
      [postId, workspaceId],
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
      const deliveryIds = await pendingDeliveries(em, scope);
      return { status: post.status, deliveryIds, channels: await channelEnds(em, scope) };
    }

    // A draft was cancelled, whether or not the workflow has heard of it.
    const canceled = request.canceled || post.status === 'draft';
    const channels = await endChannels(em, scope, canceled ? 'draft' : 'failed');
    const statuses = channels.map((channel) => channel.status);
    if (!statuses.every(isFinal) || channels.length === 0) {
      await setStatus(em, scope, 'draft', deps.now());
      return { status: 'draft', deliveryIds: [], channels };
    }

    const status = statusOfBegunPost(statuses) === 'published' ? 'published' : 'failed';
    await setStatus(em, scope, status, deps.now());
    const type = finalEventType(statuses);
    const view = await loadPostView(em, scope.workspaceId, scope.postId, deps.publicUrl);
    const final = { postId: scope.postId, run: post.run };
    const event = { workspaceId, createdAt: deps.now(), data: { post: view }, final };
    const deliveryIds = type ? await recordEvent(em, { ...event, type }) : [];
    return { status, deliveryIds, channels };
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

/** As a rule all of them have ended by themselves, and under the post's lock none begins anew. */
async function endChannels(em: Em, scope: Scope, end: 'draft' | 'failed'): Promise<ChannelEnd[]> {
  const channels = await channelEnds(em, scope);
  if (channels.every(({ status }) => isFinal(status))) {
    return channels;
  }

  await endOpenChannels(em, scope, end);
  return channelEnds(em, scope);
}

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
           error = 'The channel did not get the post within a day of its time, and is given up. Retry the post if it is still to go out.' where ${open}`
      : `update post_channels set status = ?, retry_at = null, error = null, error_code = null where ${open}`,
    [end, ...ids],
  );
}

const channelEnds = (em: Em, { postId, workspaceId }: Scope): Promise<ChannelEnd[]> =>
  ask<ChannelEnd>(
    em,
    `select pc.channel_id as "channelId", c.platform as network, pc.status, pc.error_code as code
     from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
     where pc.post_id = $1 and pc.workspace_id = $2 order by pc.position`,
    [postId, workspaceId],
  );

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
