import { linkOf } from '../domain/links.ts';
import { type ChannelFacts, type PostFacts, type PostView, viewPost } from '../domain/post-view.ts';
import { ask } from './ask.ts';
import type { RulesByPlatform } from '../networks/content-rules.ts';
import type { Em } from './orm.ts';

type Time = string | Date;

/** As PostgreSQL gives them: times inside of JSON are texts. */
type ChannelRow = Omit<ChannelFacts, 'retryAt' | 'threads'> & { readonly retryAt: string | null };
type MediaRow = { readonly linkToken: string; readonly name: string; readonly type: string };
export type PostRow = Omit<
  PostFacts,
  'scheduledAt' | 'createdAt' | 'updatedAt' | 'publishedAt' | 'media'
> & {
  readonly scheduled_at: Time | null;
  readonly created_at: Time;
  readonly updated_at: Time;
  readonly published_at: Time | null;
  readonly channels: readonly ChannelRow[] | null;
  readonly media: readonly MediaRow[] | null;
};

/** Of a channel that has not ended. Of one that has, its own columns say where it is. */
const liveParts = `case when pc.status in ('draft', 'scheduled', 'publishing', 'retrying') then (
  select json_build_object('parts', count(distinct a.part), 'url', (array_agg(a.url order by a.part))[1])
  from post_parts a
  where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id and a.state = 'sent' having count(*) > 0) end`;

/**
 * One statement for a post with its channels and files: it is the most asked for of all. $1 the post, $2 the workspace.
 *
 * @param more Columns beside those, such as `, p.run`.
 */
export const selectPost = (more = ''): string => `
  select p.id, p.status, p.body, p.thread, p.scheduled_at, p.created_at, p.updated_at, p.published_at, p.video, p.warning,
    (select json_agg(json_build_object(
       'channelId', pc.channel_id, 'status', pc.status, 'platform', c.platform, 'handle', c.handle, 'body', pc.body,
       'sentText', pc.sent_text, 'url', pc.url, 'error', pc.error, 'errorCode', pc.error_code, 'warning', pc.warning,
       'retryAt', pc.retry_at, 'metrics', pc.metrics, 'live', ${liveParts}) order by pc.position)
     from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
     where pc.post_id = p.id and pc.workspace_id = p.workspace_id) as channels,
    (select json_agg(json_build_object('linkToken', m.link_token, 'name', m.name, 'type', m.type) order by pm.position)
     from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
     where pm.post_id = p.id and pm.workspace_id = p.workspace_id and m.deleted_at is null) as media${more}
  from posts p where p.id = $1 and p.workspace_id = $2`;

const sql = selectPost();

/** What a post is shown with, beside its rows. */
export type PostPresentation = {
  /** Where browsers reach the API, for the links to its files. */
  readonly publicUrl: string;
  readonly rules: RulesByPlatform;
};

/**
 * A post in the one shape that the API answers and events carry; null when the workspace has no such post.
 * */
export async function loadPostView(
  em: Em,
  workspaceId: string,
  postId: string,
  shownBy: PostPresentation,
): Promise<PostView | null> {
  const [row] = await ask<PostRow>(em, sql, [postId, workspaceId]);
  return row ? presentPost(row, shownBy) : null;
}

export function presentPost(row: PostRow, { publicUrl, rules }: PostPresentation): PostView {
  const post: PostFacts = {
    ...row,
    scheduledAt: time(row.scheduled_at),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
    publishedAt: time(row.published_at),
    media: (row.media ?? []).map(({ type, ...file }) => ({ url: linkOf(publicUrl, file), type })),
  };
  return viewPost(
    post,
    (row.channels ?? []).map((channel) => factsOf(channel, rules)),
  );
}

const factsOf = (row: ChannelRow, rules: RulesByPlatform): ChannelFacts => ({
  ...row,
  threads: rules[row.platform]?.threads ?? true,
  retryAt: time(row.retryAt),
});

const time = (at: Time | null): Date | null => (at === null ? null : new Date(at));
