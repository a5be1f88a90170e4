import { sql, type RawBuilder } from 'kysely';
import { finalEventType, statusOfBegunPost } from '../domain/post-status.ts';
import { loadPostView, type PostPresentation } from './post-view.ts';
import type { Em } from './orm.ts';
import { db, query } from './query.ts';
import { recordEvent } from './record-event.ts';

type Scope = { readonly workspaceId: string; readonly postId: string };
type At = PostPresentation & { readonly now: Date };

/**
 * A post that was cancelled, and of which every channel finished in spite of that, ends as if there had been no cancel.
 * So does one that has a new time since, and that every channel has by now: nothing is left to publish then. As a rule
 * its workflow sees to that; here, whoever ends its last channel, as the workflow may be lost, or sleep until the new
 * time. The caller holds the post's lock.
 */
export async function refinalizeCancelled(em: Em, scope: Scope, at: At): Promise<void> {
  const hasNotEnded = sql`pc.status <> 'published'
    and (p.status = 'scheduled' or pc.status not in ('failed', 'unconfirmed'))`;
  if (!(await goesOn(em, scope, hasNotEnded))) {
    await refinalizePost(em, scope, at);
  }
}

/**
 * A post that waits, as a draft or for a time, and that every channel has ends as published: nothing is left to publish,
 * nor could anybody schedule, retry or cancel it any more. For whoever takes the last other channel away from it, or says
 * that the last one has it. The caller holds the post's lock.
 *
 * @returns the ids of the event's deliveries, if it ended. They are in the outbox.
 */
export async function finalizeIfPublished(em: Em, scope: Scope, at: At): Promise<string[]> {
  const isElsewhere = sql`pc.status <> 'published'`;
  return (await goesOn(em, scope, isElsewhere)) ? [] : refinalizePost(em, scope, at);
}

/** Whether a post does not wait, or one of its channels `pc` is open by this condition. */
async function goesOn(
  em: Em,
  { workspaceId, postId }: Scope,
  isOpen: RawBuilder<unknown>,
): Promise<boolean> {
  const open = await query(
    em,
    sql`select 1 from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}
      and (p.status not in ('draft', 'scheduled') or exists (
        select 1 from post_channels pc
        where pc.post_id = p.id and pc.workspace_id = p.workspace_id and ${isOpen}))`,
  );
  return open.length > 0;
}

/**
 * Gives a post that had ended the end that follows from its channels now, and a new final event, which counts as a
 * publishing of its own: there is one event per run. The caller holds the post's lock.
 *
 * @returns the ids of the event's deliveries. They are in the outbox.
 */
export async function refinalizePost(
  em: Em,
  { workspaceId, postId }: Scope,
  { now, ...shownBy }: At,
): Promise<string[]> {
  const rows = await query(
    em,
    db
      .selectFrom('post_channels')
      .select('status')
      .where('post_id', '=', postId)
      .where('workspace_id', '=', workspaceId),
  );
  const channels = rows.map(({ status }) => status);
  const type = finalEventType(channels);
  if (type === null) {
    return [];
  }

  const [post] = await query(
    em,
    sql<{ run: number }>`
      update posts set status = ${statusOfBegunPost(channels)}, run = run + 1, updated_at = ${now}
      where id = ${postId} and workspace_id = ${workspaceId} returning run`,
  );
  const view = await loadPostView(em, workspaceId, postId, shownBy);
  return recordEvent(em, {
    workspaceId,
    type,
    data: { post: view },
    final: { postId, run: post?.run ?? 0 },
    byOutbox: true,
  });
}
