import { sql, type RawBuilder } from 'kysely';
import type { Platform } from '../../networks/registry.ts';

export type Range = { readonly begin: number; readonly end: number };

/** Selects published posts of a workspace. */
export type Filter = {
  readonly workspaceId: string;
  /** In milliseconds since 1970, the end exclusive. With a post's id the time is ignored. */
  readonly published: Range | { readonly postId: string };
  readonly channelId?: string | undefined;
  readonly platform?: Platform | undefined;
};

/** SQL: a timestamp, for comparisons. */
const moment = (ms: number): RawBuilder<Date> => sql`to_timestamp(${ms / 1000}::float8)`;

/**
 * SQL: the selected rows of `post_metrics pm`, one per post. A post's time is the earliest among the requested channels,
 * so sums and times are stored per scope: all channels of the post, those of one network, and each channel.
 */
export function matchesFilter({
  workspaceId,
  published,
  channelId,
  platform,
}: Filter): RawBuilder<boolean> {
  const scope = channelId ?? platform ?? 'all';
  const when = 'postId' in published ? sql`pm.post_id = ${published.postId}` : isWithin(published);
  const onNetwork =
    channelId !== undefined && platform !== undefined
      ? sql`and exists (select from channels where id = ${channelId} and platform = ${platform})`
      : sql``;
  return sql`pm.workspace_id = ${workspaceId} and pm.scope = ${scope} and ${when} ${onNetwork}`;
}

/** SQL: which published channels `pc` of the selected posts are listed. @param c Its row of `channels`. */
export function isListed({ workspaceId, channelId, platform }: Filter): RawBuilder<boolean> {
  const ofChannel = channelId === undefined ? sql`` : sql`and pc.channel_id = ${channelId}`;
  const ofPlatform = platform === undefined ? sql`` : sql`and c.platform = ${platform}`;
  return sql`pc.workspace_id = ${workspaceId} and pc.status = 'published' and pc.published_at is not null
    ${ofChannel} ${ofPlatform}`;
}

/** SQL: the row `pm` of sums is within the range, in milliseconds since 1970, the end exclusive. */
export const isWithin = ({ begin, end }: Range): RawBuilder<boolean> =>
  sql`pm.published_at >= ${moment(begin)} and pm.published_at < ${moment(end)}`;

/** SQL: the metrics of none of the post's channels were read yet. */
export const isUnread = sql<boolean>`pm.unread = pm.channels`;

/** SQL: null when there are posts and none was read; 0 without posts. */
const total = (column: string): RawBuilder<number | null> =>
  sql`case when bool_and(${isUnread}) is not true then coalesce(sum(${sql.ref(`pm.${column}`)}), 0)::float8 end`;

/** SQL: the totals of rows `pm`. */
export const selectSums = sql`count(*)::float8 as posts,
    count(*) filter (where pm.unread > 0)::float8 as posts_without_metrics,
    case when sum(pm.with_impressions) > 0 then sum(pm.impressions)::float8 end as impressions,
    ${total('likes')} as likes, ${total('comments')} as comments, ${total('shares')} as shares, ${total('saves')} as saves,
    ${total('likes')} + ${total('comments')} + ${total('shares')} + ${total('saves')} as engagement`;
