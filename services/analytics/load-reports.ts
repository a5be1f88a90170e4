import { DriverException } from '@mikro-orm/core';
import type { Filter, Range } from '../../db/analytics/filter.ts';
import { markDue } from '../../db/analytics/mark-due.ts';
import {
  readHistory,
  sumByChannel,
  sumByTime,
  type ChannelHistory,
} from '../../db/analytics/reports.ts';
import { Post } from '../../db/entities/posts.ts';
import type { Em } from '../../db/orm.ts';
import { postNotFound } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { assertTimeZone, unknownTimeZone } from '../../domain/time-zone.ts';
import type { ServiceDeps } from '../deps.ts';
import { metricsOf, startOfDay, type Days } from './selection.ts';

/**
 * Returns engagement by weekday and hour of publishing. A post counts once the metrics of one channel are known,
 * because some channels never report any. Posts without metrics are only counted.
 */
export async function loadBestTimes(em: Em, filter: Filter, timezone: string) {
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

const invalidParameter = '22023';

/**
 * Returns a name that PostgreSQL resolves to the same zone. It reads a single word such as `CET` as an abbreviation
 * without summer time. The result is a name, not an offset, because PostgreSQL inverts the sign of an offset.
 */
function zoneNamed(name: string): string {
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
  return name.includes('/') ? name : timeZone;
}

/**
 * Every connected channel, and disconnected ones with posts in the range. The rate is the engagement per view, over the
 * posts with known views; null when there are none.
 */
export async function loadByChannel(em: Em, workspaceId: string, range: Range) {
  const rows = await sumByChannel(em, workspaceId, range);
  return rows.map((row) => {
    const { channel_id, platform, handle, followers, followers_updated_at, ...sums } = row;
    const { seen_engagement, ...totals } = sums;
    return {
      channel_id,
      platform,
      handle,
      totals,
      engagement_rate: totals.impressions ? seen_engagement / totals.impressions : null,
      followers,
      followers_updated_at: followers_updated_at?.toISOString() ?? null,
    };
  });
}

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

  return channels.map(({ gone_at: at, days: read, ...channel }) =>
    Object.assign(channel, {
      gone_at: at && new Date(at).toISOString(),
      days: read.map(({ day, metrics }) => ({ day, metrics: metricsOf(metrics) })),
    }),
  );
}

/**
 * Makes the metrics of a post's published channels due, at the next allowed time of networks with rare reads. The caller
 * starts the refresh; otherwise the schedule picks them up.
 */
export async function refreshPost(
  { orm, now, rules }: Pick<ServiceDeps, 'orm' | 'now' | 'rules'>,
  workspaceId: string,
  postId: string,
) {
  const askedAt = now();
  const em = orm.em.fork();
  if ((await em.count(Post, { id: postId, workspaceId })) === 0) {
    throw postNotFound(postId);
  }

  const rows = await markDue(em, { rules, askedAt, workspaceId, postId });
  const queued = rows.filter(({ refresh }) => refresh === 'queued');
  const networks = [...new Set(queued.map(({ platform }) => platform))];
  return {
    channels: rows.map(({ next_at: at, ...row }) =>
      Object.assign(row, { next_at: at?.toISOString() ?? null }),
    ),
    toRefresh: queued.length > 0 ? { workspaceId, postId, networks } : null,
  };
}
