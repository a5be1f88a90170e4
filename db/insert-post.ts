import { sql } from 'kysely';
import type { PostView } from '../domain/post-view.ts';
import type { PostUse } from '../domain/quotas.ts';
import { insertAudit, type Actor } from './audit.ts';
import type { PostChannel } from './entities/post-channels.ts';
import type { Post } from './entities/posts.ts';
import { newId } from './new-id.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';
import { quotaIfRoom, takeQuota, type QuotaHolder } from './quotas.ts';
import { eventWithDeliveries } from './record-event.ts';
import { sameText } from './same-text.ts';

// The statement that stores a post. Plain SQL takes a fifth of the time of entities.

export type NewPost = Pick<
  Post,
  | 'id'
  | 'body'
  | 'thread'
  | 'video'
  | 'timezone'
  | 'tags'
  | 'metadata'
  | 'externalId'
  | 'warning'
  | 'warnings'
> & {
  /** Null for a draft. */
  readonly dueAt: Date | null;
  readonly createdAt: Date;
  readonly channels: readonly NewChannel[];
  /** As it will be shown, for the event of a scheduled post; null for a draft. */
  readonly view: PostView | null;
};

type NewChannel = Pick<
  PostChannel,
  'channelId' | 'body' | 'options' | 'defaults' | 'media' | 'warning' | 'warnings' | 'textHash'
>;

/**
 * Inserts a post, its channels, its entry in the audit log and the event of a scheduled one, and takes their quota, in
 * one statement.
 *
 * @param takesQuotaFirst Waits for other changes of the workspace, so that the count is exact, and throws
 *   `quota_exceeded`.
 * @returns false, with nothing stored, if the statement saw no room for the post, or the workspace changed meanwhile.
 */
export async function insertPost(
  em: Em,
  owner: Actor & QuotaHolder,
  post: NewPost,
  use: PostUse,
  takesQuotaFirst: boolean,
): Promise<boolean> {
  if (takesQuotaFirst) {
    await takeQuota(em, owner, use);
  }

  const insertion = sql<{ is_stored: boolean }>`
    with room as (${takesQuotaFirst ? sql`select ${owner.workspaceId}::uuid as workspace_id` : quotaIfRoom(owner, use)}),
      post as (${postRow(post)}),
      channels as (${channelRows(owner.workspaceId, post)}),
      audit as (${insertAudit(owner, 'post.created', sql`(select ${newId()}::uuid, id from post)`)})
      ${post.view ? sql`, ${scheduledEvent(owner.workspaceId, post.view)}` : sql``}
    select exists (select from post) as is_stored`;
  const [stored] = await query(em, insertion);
  return stored?.is_stored ?? false;
}

const scheduledEvent = (workspaceId: string, post: PostView) =>
  eventWithDeliveries({
    event: { workspaceId, type: 'post.scheduled', data: { post }, postId: post.id, byOutbox: true },
    onlyWith: sql.table('post'),
  });

/** A new draft is stored as synced: it needs no workflow. */
const firstRevision = 1;

const postRow = (post: NewPost) => sql`
  insert into posts
    (id, workspace_id, body, thread, scheduled_at, timezone, status, synced_revision, video, warning, warnings, tags, metadata,
      external_id, created_at, updated_at)
  select ${post.id}::uuid, workspace_id, ${post.body}::text, ${json(post.thread)}::jsonb, ${post.dueAt}::timestamptz, ${post.timezone ?? null}::text,
    ${post.dueAt ? 'scheduled' : 'draft'}::text, ${post.dueAt ? 0 : firstRevision}::int, ${json(post.video)}::jsonb,
    ${post.warning}::text, ${json(post.warnings ?? null)}::jsonb, ${post.tags}::text[], ${json(post.metadata)}::jsonb,
    ${post.externalId}::text, ${post.createdAt}::timestamptz, ${post.createdAt}::timestamptz
  from room
  returning id, workspace_id, status`;

function channelRows(workspaceId: string, { id: postId, dueAt, channels }: NewPost) {
  const rows = channels.map(({ channelId, textHash, ...own }, position) =>
    Object.assign(own, {
      id: newId(),
      channel_id: channelId,
      position,
      text_hash: textHash,
      due_at: dueAt,
    }),
  );
  return sql`
    insert into post_channels (id, workspace_id, post_id, channel_id, position, body, options, defaults, media, status,
      warning, warnings, text_hash, text_due_at)
    select c.id, p.workspace_id, p.id, c.channel_id, c.position, c.body, c.options, c.defaults, c.media, p.status,
      nullif(concat_ws(' ', c.warning, same.warning), ''),
      c.warnings || case when same.warning is null then '[]' else jsonb_build_array(jsonb_build_object('channel_id', c.channel_id,
        'message', same.warning, 'path', '', 'rule', 'same_text', 'limit', null, 'actual', null)) end, c.text_hash, c.due_at
    from post p, jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as c(id uuid, channel_id uuid, position int, body text, options jsonb, defaults jsonb, media jsonb, warning text, warnings jsonb, text_hash bigint, due_at timestamptz)
    left join lateral (${sameText({ workspaceId, postId })}) same on true`;
}

const json = (value: object | null): string | null =>
  value === null ? null : JSON.stringify(value);
