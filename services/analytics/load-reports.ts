import { DriverException } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import type { Em } from '../../db/orm.ts';
import { queryPlanned } from '../../db/query.ts';
import { AppError } from '../../domain/errors.ts';
import { assertTimeZone, unknownTimeZone } from '../../domain/time-zone.ts';
import type { Platform } from '../../networks/registry.ts';
import type { Totals } from './load-analytics.ts';
import {
  matchesFilter,
  type Filter,
  isUnread,
  isWithin,
  selectSums,
  startOfDay,
  type Days,
  metricsOf,
} from './selection.ts';

type BestTime = {
  /** 1 is Monday. */
  readonly weekday: number;
  readonly hour: number;
  readonly posts: number;
  readonly engagement: number;
  /** Engagement per post. */
  readonly average: number;
};

type TimeRow = Omit<BestTime, 'average'> & { readonly unread: number };

type BestTimes = {
  readonly posts_without_metrics: number;
  readonly times: readonly BestTime[];
};

/**
 * Returns engagement by weekday and hour of publishing. A post counts once the metrics of one channel are known,
 * because some channels never report any. Posts without metrics are only counted.
 *
 * @param timezone IANA name.
 * @throws AppError `invalid_request` for an unknown time zone.
 */
export async function loadBestTimes(em: Em, filter: Filter, timezone: string): Promise<BestTimes> {
  assertTimeZone(timezone, '?timezone');
  const rows = await queryPlanned(em, selectTimes(filter, zoneNamed(timezone))).catch(
    (error: unknown) => {
      const isUnknown = error instanceof DriverException && error.code === invalidParameter;
      throw isUnknown ? unknownTimeZone(timezone, '?timezone') : error;
    },
  );
  return {
    posts_without_metrics: rows.reduce((sum, { unread }) => sum + unread, 0),
    times: rows
      .filter(({ posts }) => posts > 0)
      .map(({ weekday, hour, posts, engagement }) => ({
        weekday,
        hour,
        posts,
        engagement,
        average: engagement / posts,
      })),
  };
}

/** PostgreSQL's code for an unknown time zone. */
const invalidParameter = '22023';

/**
 * Returns a name that PostgreSQL resolves to the same zone. It reads a single word such as `CET` as an abbreviation
 * without summer time. The result is a name, not an offset, because PostgreSQL inverts the sign of an offset.
 */
function zoneNamed(name: string): string {
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
  return name.includes('/') ? name : timeZone;
}

const selectTimes = (filter: Filter, timezone: string): RawBuilder<TimeRow> => sql`
  select extract(isodow from at)::int as weekday, extract(hour from at)::int as hour,
    (count(*) filter (where is_read))::float8 as posts,
    (count(*) filter (where not is_read))::float8 as unread,
    coalesce(sum(engagement) filter (where is_read), 0)::float8 as engagement
  from (
    select pm.published_at at time zone ${timezone}::text as at, not ${isUnread} as is_read,
      pm.likes + pm.comments + pm.shares + pm.saves as engagement
    from post_metrics pm where ${matchesFilter(filter)}
  ) measured
  group by 1, 2 order by 1, 2`;

type ByChannel = {
  readonly channel_id: string;
  readonly platform: Platform;
  readonly handle: string;
  readonly totals: Totals;
  /** Engagement per view, over the posts with known views; null when there are none. */
  readonly engagement_rate: number | null;
  /** Null when the network does not report it, or was not asked yet. */
  readonly followers: number | null;
  readonly followers_updated_at: string | null;
};

type Range = { readonly begin: number; readonly end: number };

type ChannelRow = Totals &
  Pick<ByChannel, 'channel_id' | 'platform' | 'handle' | 'followers'> & {
    readonly followers_updated_at: Date | null;
    /** Engagement of the posts with known views. */
    readonly seen_engagement: number;
  };

/** Every connected channel, and disconnected ones with posts in the range, in order of creation. */
export async function loadByChannel(
  em: Em,
  workspaceId: string,
  range: Range,
): Promise<ByChannel[]> {
  const rows = await queryPlanned(em, selectByChannel(workspaceId, range));
  return rows.map((row) => ({
    channel_id: row.channel_id,
    platform: row.platform,
    handle: row.handle,
    totals: {
      posts: row.posts,
      posts_without_metrics: row.posts_without_metrics,
      impressions: row.impressions,
      likes: row.likes,
      comments: row.comments,
      shares: row.shares,
      saves: row.saves,
      engagement: row.engagement,
    },
    engagement_rate: row.impressions ? row.seen_engagement / row.impressions : null,
    followers: row.followers,
    followers_updated_at: row.followers_updated_at?.toISOString() ?? null,
  }));
}

const selectByChannel = (workspaceId: string, range: Range): RawBuilder<ChannelRow> => sql`
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
  order by c.id`;

type ChannelHistory = {
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

type HistoryRow = { readonly channels: readonly ChannelHistory[] };

/** Returns the metrics of a post per day. @throws AppError `not_found` */
export async function loadHistory(
  em: Em,
  workspaceId: string,
  postId: string,
  days: Days,
): Promise<ChannelHistory[]> {
  const [row] = await queryPlanned(em, selectHistory(workspaceId, postId, days));
  if (!row) {
    throw new AppError('not_found', `There is no post with the id "${postId}".`);
  }

  return row.channels.map((channel) => ({
    channel_id: channel.channel_id,
    platform: channel.platform,
    handle: channel.handle,
    url: channel.url,
    gone_at: channel.gone_at && new Date(channel.gone_at).toISOString(),
    days: channel.days.map(({ day, metrics }) => ({ day, metrics: metricsOf(metrics) })),
  }));
}

/** SQL: the day, computed from its epoch: PostgreSQL rejects dates of the year 0, which the contract allows. */
const dayAt = (day: string): RawBuilder<unknown> =>
  sql`(to_timestamp(${startOfDay(day) / 1000}::float8) at time zone 'UTC')::date`;

const selectHistory = (
  workspaceId: string,
  postId: string,
  { from, to }: Days,
): RawBuilder<HistoryRow> => sql`
  select coalesce((
    select jsonb_agg(jsonb_build_object(
      'channel_id', pc.channel_id, 'platform', c.platform, 'handle', c.handle, 'url', pc.url, 'gone_at', pc.gone_at,
      'days', coalesce((
        select jsonb_agg(jsonb_build_object('day', d.day, 'metrics', d.metrics) order by d.day)
        from metric_days d
        where d.post_channel_id = pc.id and d.workspace_id = pc.workspace_id
          and d.day between ${dayAt(from)} and ${dayAt(to)}
      ), '[]')) order by pc.position, pc.id)
    from post_channels pc join channels c on c.id = pc.channel_id
    where pc.post_id = p.id and pc.workspace_id = p.workspace_id
      and pc.status = 'published' and pc.published_at is not null
  ), '[]') as channels
  from posts p where p.id = ${postId} and p.workspace_id = ${workspaceId}`;
