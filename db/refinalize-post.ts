import { sql, type RawBuilder } from 'kysely';
import { finalEventType, statusOfBegunPost, type ChannelStatus } from '../domain/statuses.ts';
import { isFailedOrUnconfirmed } from './channel-status.ts';
import { loadPostView, type PostPresentation } from './load-post-view.ts';
import type { Em } from './orm.ts';
import { isWaitingPost } from './post-status.ts';
import { query } from './query.ts';
import { recordEvent } from './record-event.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };
type Deps = PostPresentation & { readonly now: () => Date };

// The caller holds the post's lock. Usually the workflow finalizes a post; it may be lost or sleep until a new time.

/**
 * Finalizes a cancelled post if every channel has finished nevertheless, or a post with a new time if every channel is
 * published already. A post that was stopped within a thread stays a draft: it may have been edited, and a new time
 * validates it.
 */
export async function refinalizeCancelled(em: Em, scope: Scope, deps: Deps): Promise<void> {
  const hasNotEnded = sql`pc.status <> 'published'
    and (p.status = 'scheduled' or not ${isFailedOrUnconfirmed} or coalesce(pc.error_code, '') = 'cancelled')`;
  if (!(await isUnfinished(em, scope, hasNotEnded))) {
    await refinalizePost(em, scope, deps);
  }
}

/**
 * Finalizes a draft or scheduled post as published if every channel is published, because it could no longer be
 * scheduled, retried or cancelled.
 */
export async function finalizeIfPublished(em: Em, scope: Scope, deps: Deps): Promise<void> {
  if (!(await isUnfinished(em, scope, sql`pc.status <> 'published'`))) {
    await refinalizePost(em, scope, deps);
  }
}

/** Whether a post is neither draft nor scheduled, or one of its channels `pc` meets this condition. */
async function isUnfinished(
  em: Em,
  { workspaceId, postId }: Scope,
  isOpen: RawBuilder<unknown>,
): Promise<boolean> {
  const open = await query(
    em,
    sql`select 1 from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}
      and (not ${isWaitingPost('p')} or exists (
        select 1 from post_channels pc
        where pc.post_id = p.id and pc.workspace_id = p.workspace_id and ${isOpen}))`,
  );
  return open.length > 0;
}

/** Ends a post again from the status of its channels, with a final event. It is a new run: there is one event per run. */
export async function refinalizePost(
  em: Em,
  { workspaceId, postId }: Scope,
  deps: Deps,
): Promise<void> {
  const rows = await query(
    em,
    sql<{ status: ChannelStatus }>`
      select status from post_channels where post_id = ${postId} and workspace_id = ${workspaceId}`,
  );
  const channels = rows.map(({ status }) => status);
  const type = finalEventType(channels);
  if (type === null) {
    return;
  }

  const [post] = await query(
    em,
    sql<{ run: number }>`
      update posts set status = ${statusOfBegunPost(channels)}, run = run + 1, updated_at = ${deps.now()}
      where id = ${postId} and workspace_id = ${workspaceId} returning run`,
  );
  const view = await loadPostView(em, workspaceId, postId, deps);
  await recordEvent(em, {
    workspaceId,
    type,
    data: { post: view },
    final: { postId, run: post?.run ?? 0 },
    byOutbox: true,
  });
}
