import { sql, type RawBuilder } from 'kysely';
import { linkOf } from '../domain/media.ts';
import { type ChannelFacts, type PostFacts, type PostView, viewPost } from '../domain/post-view.ts';
import type { RulesByPlatform } from '../networks/content-rules.ts';
import { shownStatus } from './channel-status.ts';
import { sentPartsSummary, sentText } from './ledger/parts.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

type ChannelRow = Omit<ChannelFacts, 'threads' | 'media'> & {
  readonly media: readonly MediaRow[] | null;
};
type MediaRow = Omit<PostFacts['media'][number], 'url'> & {
  readonly linkToken: string;
  readonly name: string;
};
type PostRow = Omit<PostFacts, 'media'> & {
  readonly channels: readonly ChannelRow[] | null;
  readonly media: readonly MediaRow[] | null;
};

/** Published channels store the URL in their own columns. */
const liveParts = sql`case when pc.status <> 'published' then (${sentPartsSummary}) end`;

/** SQL: the text that the network has, or may have. */
const liveText = sql`case pc.status when 'unconfirmed' then ${sentText} else pc.sent_text end`;

/** SQL: a channel's own files; null when it has the post's. */
const ownFiles = sql`case when pc.media is not null then (
    select coalesce(json_agg(json_build_object('id', m.id, 'part', 0, 'linkToken', m.link_token, 'name', m.name,
      'type', m.type, 'alt_text', coalesce(own.file ->> 'alt_text', m.alt_text)) order by own.position), '[]')
    from jsonb_array_elements(pc.media) with ordinality own (file, position)
    join media_files m on m.id = (own.file ->> 'media_id')::uuid and m.workspace_id = pc.workspace_id
    where m.deleted_at is null) end`;

/** Limit of a body, or of all texts of a thread together, in lists and analytics, in characters. */
const most = sql.lit(10_000);

/** SQL: the texts of the post `p`, cut inside the database. A thread keeps all its parts. */
export const cutTexts = sql`left(p.body, ${most}) as body,
  case when p.thread is null or length(p.thread::text) <= ${most} then p.thread else (
    select jsonb_agg(left(part, greatest(0, ${most} - before)::int) order by n) from (
      select part, n, sum(length(part)) over (order by n) - length(part) as before
      from jsonb_array_elements_text(p.thread) with ordinality as parts(part, n)) located
  ) end as thread,
  coalesce(length(p.body) > ${most}, false) or coalesce(length(p.thread::text) > ${most} and (
    select sum(length(part)) from jsonb_array_elements_text(p.thread) part) > ${most}, false) as body_truncated`;

/** Reads posts with their channels and files in one statement: reading one is the most frequent query. */
const selectPosts = (which: RawBuilder<unknown>, longestOwn?: number) => sql<PostRow>`
  select p.id, p.status, ${longestOwn === undefined ? sql`p.body, p.thread` : cutTexts}, p.scheduled_at, p.timezone, p.created_at, p.updated_at, p.published_at, p.video, p.warning, p.warnings,
    p.tags, p.metadata, p.external_id,
    (select json_agg(json_build_object(
       'channel_id', pc.channel_id, 'status', ${shownStatus}, 'unpublish', pc.unpublish, 'platform', c.platform, 'handle', c.handle, 'body', ${own(sql`pc.body`, longestOwn)},
       'sent_text', ${own(liveText, longestOwn)}, 'sent_warning', pc.sent_warning, 'options', coalesce(pc.defaults - array(select jsonb_object_keys(p.video)), '{}') || coalesce(pc.options, '{}'), 'url', pc.url, 'error', pc.error, 'error_code', pc.error_code, 'warning', pc.warning, 'warnings', pc.warnings,
       'retry_at', pc.retry_at, 'metrics', pc.metrics, 'metrics_updated_at', pc.metrics_updated_at, 'gone_at', pc.gone_at, 'live', ${liveParts}, 'media', ${ownFiles}) order by pc.position)
     from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
     where pc.post_id = p.id and pc.workspace_id = p.workspace_id) as channels,
    (select json_agg(json_build_object('id', m.id, 'part', pm.part, 'linkToken', m.link_token, 'name', m.name, 'type', m.type,
       'alt_text', coalesce(pm.alt_text, m.alt_text)) order by pm.position)
     from post_media pm join media_files m on m.id = pm.media_id and m.workspace_id = pm.workspace_id
     where pm.post_id = p.id and pm.workspace_id = p.workspace_id and pm.part >= 0 and m.deleted_at is null) as media
  from posts p where ${which}`;

const own = (text: RawBuilder<unknown>, longest?: number) =>
  longest === undefined ? text : sql`left(${text}, ${longest}::int)`;

export type PostPresentation = {
  /** Public URL of the API, for links to files. */
  readonly publicUrl: string;
  readonly rules: RulesByPlatform;
};

/** Loads a post in the shape of API responses and events; null if the workspace has no such post. */
export async function loadPostView(
  em: Em,
  workspaceId: string,
  postId: string,
  shownBy: PostPresentation,
): Promise<PostView | null> {
  const which = sql`p.id = ${postId} and p.workspace_id = ${workspaceId}`;
  const [row] = await query(em, selectPosts(which));
  return row ? presentPost(row, shownBy) : null;
}

/** Loads the posts of a page, by id, with their long texts cut. */
export async function loadPostViews(
  em: Em,
  workspaceId: string,
  postIds: readonly string[],
  { longestOwn, ...shownBy }: PostPresentation & { readonly longestOwn: number },
): Promise<Map<string, PostView>> {
  const which = sql`p.id = any(${postIds}::uuid[]) and p.workspace_id = ${workspaceId}`;
  const rows = await query(em, selectPosts(which, longestOwn));
  return new Map(rows.map((row) => [row.id, presentPost(row, shownBy)]));
}

function presentPost(row: PostRow, { publicUrl, rules }: PostPresentation): PostView {
  const linked = (files: readonly MediaRow[]) =>
    files.map((file) => Object.assign({}, file, { url: linkOf(publicUrl, file) }));
  const channels = (row.channels ?? []).map((channel) =>
    Object.assign({}, channel, {
      threads: rules[channel.platform]?.threads ?? true,
      media: channel.media && linked(channel.media),
    }),
  );
  return viewPost({ ...row, media: linked(row.media ?? []) }, channels);
}
