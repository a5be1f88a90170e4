import { sql } from 'kysely';
import { isBeingRemoved } from '../../db/channel-status.ts';
import { loadPostView } from '../../db/load-post-view.ts';
import { query } from '../../db/query.ts';
import { recordEvent } from '../../db/record-event.ts';
import type { Unpublish } from '../../domain/post-view.ts';
import type { Target } from '../claim-post.ts';
import type { ActivityDeps } from '../deps.ts';

export type UnpublishRequest = { readonly workspaceId: string; readonly postId: string };

export const readUnpublish = (
  { orm }: Pick<ActivityDeps, 'orm'>,
  { workspaceId, postId }: UnpublishRequest,
): Promise<Target[]> =>
  query(
    orm.em.fork(),
    sql<Target>`
      select pc.id as "postChannelId", c.id as "channelId", c.platform as network, c.handle
      from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
      where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} and ${isBeingRemoved}
      order by pc.position`,
  );

export type UnpublishEnd = UnpublishRequest & {
  /** Rows of channels whose removal was stopped or timed out. `all`: the workflow was cancelled. */
  readonly stopped: readonly string[] | 'all';
};

const stoppedUnpublish: Omit<Unpublish, 'requested_at'> = {
  status: 'failed',
  error:
    'The removal was stopped before it ended. Unpublish the post again, or delete it on the network.',
  error_code: 'internal',
};

/**
 * Ends the request to remove a post, with one event, once no channel is pending. Safe to repeat.
 *
 * @returns whether it is over; false if channels were added since.
 */
export const finishUnpublish = (
  deps: ActivityDeps,
  { workspaceId, postId, stopped }: UnpublishEnd,
): Promise<{ readonly isOver: boolean }> =>
  deps.orm.em.fork().transactional(async (em) => {
    const ofPost = sql`post_id = ${postId} and workspace_id = ${workspaceId}`;
    await query(
      em,
      sql`select 1 from posts where id = ${postId} and workspace_id = ${workspaceId} for update`,
    );
    const which = stopped === 'all' ? sql`true` : sql`pc.id = any(${stopped}::uuid[])`;
    await query(
      em,
      sql`update post_channels pc set unpublish = pc.unpublish || ${JSON.stringify(stoppedUnpublish)}::jsonb
        where ${ofPost} and ${isBeingRemoved} and ${which}`,
    );
    const pending = await query(
      em,
      sql`select 1 from post_channels pc where ${ofPost} and ${isBeingRemoved} limit 1`,
    );
    if (pending.length > 0) {
      return { isOver: false };
    }

    const ended = await query(
      em,
      sql`update posts set is_being_removed = false, updated_at = ${deps.now()}
        where id = ${postId} and workspace_id = ${workspaceId} and is_being_removed returning id`,
    );
    if (ended.length === 0) {
      return { isOver: true };
    }

    const post = await loadPostView(em, workspaceId, postId, deps);
    const type = 'post.unpublished';
    await recordEvent(em, { workspaceId, type, data: { post }, postId, byOutbox: true });
    return { isOver: true };
  });
