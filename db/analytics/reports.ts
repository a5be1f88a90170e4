import { sql, type RawBuilder } from 'kysely';
import type { Platform } from '../../networks/registry.ts';
import type { Em } from '../orm.ts';
import { queryPlanned } from '../query.ts';
import {
  isUnread,
  isWithin,
  matchesFilter,
  selectSums,
  type Filter,
  type Range,
} from './filter.ts';
import type { Totals } from './posts.ts';

type TimeRow = {
  /** 1 is Monday. */
  readonly weekday: number;
  readonly hour: number;
  readonly posts: number;
  readonly engagement: number;
  readonly unread: number;
};

/** Sums engagement by weekday and hour of publishing. @param timezone A name that PostgreSQL knows. */
export const sumByTime = (em: Em, filter: Filter, timezone: string): Promise<TimeRow[]> =>
  queryPlanned(
    em,
    sql<TimeRow>`
  select extract(isodow from at)::int as weekday, extract(hour from at)::int as hour,
    (count(*) filter (where is_read))::float8 as posts,
    (count(*) filter (where not is_read))::float8 as unread,
    coalesce(sum(engagement) filter (where is_read), 0)::float8 as engagement
  from (
    select pm.published_at at time zone ${timezone}::text as at, not ${isUnread} as is_read,
      pm.likes + pm.comments + pm.shares + pm.saves as engagement
    from post_metrics pm where ${matchesFilter(filter)}
  ) measured
  group by 1, 2 order by 1, 2`,
  );

type ChannelRow = Totals & {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly handle: string;
  readonly followers: number | null;
  readonly followers_updated_at: Date | null;
  /** Engagement of the posts with known views. */
  readonly seen_engagement: number;
};

/** Sums each connected channel, and disconnected ones with posts in the range, in order of creation. */
export const sumByChannel = (em: Em, workspaceId: string, range: Range): Promise<ChannelRow[]> =>
  queryPlanned(
    em,
    sql<ChannelRow>`
  select c.id as channel_id, c.platform, c.handle, c.followers, c.followers_updated_at, s.*
  from channels c
  cross join lateral (
    select ${selectSums},
      coalesce(sum(pm.likes + pm.comments + pm.shares + pm.saves) filter (where pm.with_impressions > 0), 0)::float8
        as seen_engagement
    from post_metrics pm
    where pm.workspace_id = c.workspace_id and pm.scope = c.id::text and ${isWithin(range)}
  ) s
  where c.workspace_id = ${workspaceId} and (c.disconnected_at is null or s.posts > 0)
  order by c.id`,
  );

export type ChannelHistory = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly handle: string;
  readonly url: string | null;
  readonly gone_at: string | null;
  readonly days: readonly {
    readonly day: string;
    readonly metrics: Readonly<Record<string, number>>;
  }[];
};

type Days = { readonly beginMs: number; readonly endMs: number };

/** SQL: the day, from its epoch: PostgreSQL rejects dates of the year 0, which the contract allows. */
const dayAt = (ms: number): RawBuilder<unknown> =>
  sql`(to_timestamp(${ms / 1000}::float8) at time zone 'UTC')::date`;

/** Reads the metrics of a post per day. @returns undefined when there is no such post. */
export async function readHistory(
  em: Em,
  workspaceId: string,
  postId: string,
  { beginMs, endMs }: Days,
): Promise<readonly ChannelHistory[] | undefined> {
  const [row] = await queryPlanned(
    em,
    sql<{ channels: readonly ChannelHistory[] }>`
  select coalesce((
    select jsonb_agg(jsonb_build_object(
      'channel_id', pc.channel_id, 'platform', c.platform, 'handle', c.handle, 'url', pc.url, 'gone_at', pc.gone_at,
      'days', coalesce((
        select jsonb_agg(jsonb_build_object('day', d.day, 'metrics', d.metrics) order by d.day)
        from metric_days d
        where d.post_channel_id = pc.id and d.workspace_id = pc.workspace_id
          and d.day between ${dayAt(beginMs)} and ${dayAt(endMs)}
      ), '[]')) order by pc.position, pc.id)
    from post_channels pc join channels c on c.id = pc.channel_id
    where pc.post_id = p.id and pc.workspace_id = p.workspace_id
      and pc.status = 'published' and pc.published_at is not null
  ), '[]') as channels
  from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}`,
  );
  return row?.channels;
}
