import type { Filter, Range } from '../../db/analytics/filter.ts';
import { wrongValue } from '../../domain/errors.ts';
import { assertTimeZone, dayIn, resolveLocal } from '../../domain/time-zone.ts';
import { metricNames } from '../../networks/network.ts';

/** A caller's search for published posts: those of some days, or one post. */
export type PublishedSearch = DayRange &
  Pick<Filter, 'channelId' | 'platform'> & { readonly postId?: string | undefined };

type DayRange = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** IANA name of the days' time zone; UTC when left out. */
  readonly timezone?: string | undefined;
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

export function daysOf(given: DayRange, now: Date): Days {
  if (given.timezone !== undefined) {
    assertTimeZone(given.timezone, '?timezone');
  }

  const to = given.to ?? dayOf(now, given.timezone);
  const from = given.from ?? monthBefore(to);
  if (from > to) {
    throw wrongValue(given.from === undefined ? '?to' : '?from', `is after ?to, which is ${to}`);
  }

  if (startOfDay(to) + dayMs - startOfDay(from) > mostDays * dayMs) {
    throw wrongValue('?from', `is more than ${mostDays} days before the end of ${to}`);
  }

  return { from, to };
}

function monthBefore(day: string): string {
  const begin = startOfDay(day) - (defaultDays - 1) * dayMs;
  return dayOf(new Date(Math.max(begin, startOfDay('0000-01-01')))); // Keeps the year at four digits.
}

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
