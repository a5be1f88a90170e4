import { DriverException } from '@mikro-orm/core';
import type { Filter, Range } from '../../db/analytics/filter.ts';
import type { Totals } from '../../db/analytics/posts.ts';
import {
  readHistory,
  sumByChannel,
  sumByTime,
  type ChannelHistory,
} from '../../db/analytics/reports.ts';
import type { Em } from '../../db/orm.ts';
import { AppError } from '../../domain/errors.ts';
import { assertTimeZone, unknownTimeZone } from '../../domain/time-zone.ts';
import type { Platform } from '../../networks/registry.ts';
import { metricsOf, startOfDay, type Days } from './selection.ts';

type BestTime = {
  /** 1 is Monday. */
  readonly weekday: number;
  readonly hour: number;
  readonly posts: number;
  readonly engagement: number;
  /** Engagement per post. */
  readonly average: number;
};

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
  const rows = await sumByTime(em, filter, zoneNamed(timezone)).catch((error: unknown) => {
    const isUnknown = error instanceof DriverException && error.code === invalidParameter;
    throw isUnknown ? unknownTimeZone(timezone, '?timezone') : error;
  });
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

/** Every connected channel, and disconnected ones with posts in the range, in order of creation. */
export async function loadByChannel(
  em: Em,
  workspaceId: string,
  range: Range,
): Promise<ByChannel[]> {
  const rows = await sumByChannel(em, workspaceId, range);
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

/** Returns the metrics of a post per day. @throws AppError `not_found` */
export async function loadHistory(
  em: Em,
  workspaceId: string,
  postId: string,
  days: Days,
): Promise<ChannelHistory[]> {
  const channels = await readHistory(em, workspaceId, postId, {
    beginMs: startOfDay(days.from),
    endMs: startOfDay(days.to),
  });
  if (!channels) {
    throw new AppError('not_found', `There is no post with the id "${postId}".`);
  }

  return channels.map((channel) => ({
    channel_id: channel.channel_id,
    platform: channel.platform,
    handle: channel.handle,
    url: channel.url,
    gone_at: channel.gone_at && new Date(channel.gone_at).toISOString(),
    days: channel.days.map(({ day, metrics }) => ({ day, metrics: metricsOf(metrics) })),
  }));
}
