import { sql, type RawBuilder } from 'kysely';
import { AppError } from '../../domain/errors.ts';
import { assertTimeZone, dayIn, resolveLocal } from '../../domain/time-zone.ts';
import { metricNames } from '../../networks/network.ts';
import type { Platform } from '../../networks/registry.ts';

/** A caller's search for published posts: those of some days, or one post. */
export type PublishedSearch = DayRange &
  Pick<Filter, 'channelId' | 'platform'> & { readonly postId?: string | undefined };

type DayRange = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** IANA name of the days' time zone; UTC when left out. */
  readonly timezone?: string | undefined;
};

type Range = { readonly begin: number; readonly end: number };

/** Selects published posts of a workspace. */
export type Filter = {
  readonly workspaceId: string;
  /** In milliseconds since 1970, the end exclusive. With a post's id the time is ignored. */
  readonly published: Range | { readonly postId: string };
  readonly channelId?: string | undefined;
  readonly platform?: Platform | undefined;
};

/** Whole days, both inclusive: `2027-02-01`. */
export type Days = { readonly from: string; readonly to: string };

/** The days of a search. They are ignored for a single post. */
export const daysAsked = (search: PublishedSearch, now: Date): Days =>
  daysOf(search.postId === undefined ? search : { timezone: search.timezone }, now);

export const filterOf = (
  workspaceId: string,
  { postId, channelId, platform, timezone }: PublishedSearch,
  days: Days,
): Filter => ({
  workspaceId,
  published: postId === undefined ? rangeOf(days, timezone) : { postId },
  channelId,
  platform,
});

const dayMs = 24 * 60 * 60 * 1000;
const defaultDays = 30;
/** The longest range of one request. */
const mostDays = 366;

/** Start of a day in UTC, in milliseconds since 1970. */
export const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** The time from the start of the first day to the end of the last one, exclusive, in milliseconds since 1970. */
export function rangeOf({ from, to }: Days, timezone?: string): Range {
  const [begin, end] = [startOfDay(from), startOfDay(to) + dayMs];
  return timezone === undefined
    ? { begin, end }
    : { begin: resolveLocal(begin, timezone).ms, end: resolveLocal(end, timezone).ms };
}

export const dayOf = (time: Date, timezone?: string): string =>
  timezone === undefined ? time.toISOString().slice(0, 10) : dayIn(time, timezone);

/**
 * Returns the requested days. Defaults: up to today, and 30 days long.
 *
 * @param given Valid dates.
 * @throws AppError `invalid_request` when the range is reversed or too long, or the time zone unknown.
 */
export function daysOf(given: DayRange, now: Date): Days {
  if (given.timezone !== undefined) {
    assertTimeZone(given.timezone, '?timezone');
  }

  const to = given.to ?? dayOf(now, given.timezone);
  const from = given.from ?? monthBefore(to);
  if (from > to) {
    throw wrong(given.from === undefined ? '?to' : '?from', `is after ?to, which is ${to}`);
  }

  if (startOfDay(to) + dayMs - startOfDay(from) > mostDays * dayMs) {
    throw wrong('?from', `is more than ${mostDays} days before the end of ${to}`);
  }

  return { from, to };
}

function monthBefore(day: string): string {
  const begin = startOfDay(day) - (defaultDays - 1) * dayMs;
  return dayOf(new Date(Math.max(begin, startOfDay('0000-01-01')))); // Keeps the year at four digits.
}

function wrong(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}.`, { details: [{ path, message }] });
}

/** SQL: a timestamp, for comparisons. */
const moment = (ms: number): RawBuilder<Date> => sql`to_timestamp(${ms / 1000}::float8)`;

/**
 * SQL: the selected rows of `post_metrics pm`, one per post. A post's time is the earliest publishing time among the
 * requested channels: a channel that published a month late counts in that later month. Sums and times are therefore
 * stored per scope: all channels of the post, those of one network, and each channel.
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

/**
 * Returns the stored metrics that the contract names, in its order. Metrics that a network does not report are absent.
 */
export const metricsOf = (stored: Readonly<Record<string, unknown>>): Record<string, number> =>
  Object.fromEntries(
    metricNames.flatMap((name) => {
      const value = stored[name];
      return typeof value === 'number' ? [[name, value]] : [];
    }),
  );
