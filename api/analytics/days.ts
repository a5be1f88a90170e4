import { AppError } from '../../domain/errors.ts';

/** Whole days in UTC, both counted: `2027-02-01`. */
export type Days = { readonly from: string; readonly to: string };

const dayMs = 24 * 60 * 60 * 1000;
const defaultDays = 30;
/** How many days can be asked for at once. */
const mostDays = 366;

/** When a day begins, in milliseconds since 1970. */
export const beginOf = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** When it is over. */
export const endOf = (day: string): number => beginOf(day) + dayMs;

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/**
 * The days that are asked for: up to today if nothing is said, and 30 of them.
 *
 * @param given Dates that exist, or nothing.
 * @throws AppError `invalid_request` when they are the wrong way round or too far apart.
 */
export function daysOf(given: { readonly from?: string; readonly to?: string }, now: Date): Days {
  const to = given.to ?? dayOf(now);
  const from = given.from ?? monthBefore(to);
  if (from > to) {
    throw wrong(given.from === undefined ? '?to' : '?from', `is after ?to, which is ${to}`);
  }

  if (endOf(to) - beginOf(from) > mostDays * dayMs) {
    throw wrong('?from', `is more than ${mostDays} days before the end of ${to}`);
  }

  return { from, to };
}

function monthBefore(day: string): string {
  const begin = beginOf(day) - (defaultDays - 1) * dayMs;
  return dayOf(new Date(Math.max(begin, beginOf('0000-01-01')))); // An earlier day has no four-digit year.
}

function wrong(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}.`, { details: [{ path, message }] });
}
