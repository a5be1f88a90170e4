import { AppError } from '../../domain/errors.ts';

/** Whole days in UTC, both inclusive: `2027-02-01`. */
export type Days = { readonly from: string; readonly to: string };

const dayMs = 24 * 60 * 60 * 1000;
const defaultDays = 30;
/** The longest range of one request. */
const mostDays = 366;

/** Start of a day, in milliseconds since 1970. */
export const startOfDay = (day: string): number => Date.parse(`${day}T00:00:00.000Z`);

/** End of a day, exclusive. */
export const endOfDay = (day: string): number => startOfDay(day) + dayMs;

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/**
 * Returns the requested days. Defaults: up to today, and 30 days long.
 *
 * @param given Valid dates.
 * @throws AppError `invalid_request` when the range is reversed or too long.
 */
export function daysOf(given: { readonly from?: string; readonly to?: string }, now: Date): Days {
  const to = given.to ?? dayOf(now);
  const from = given.from ?? monthBefore(to);
  if (from > to) {
    throw wrong(given.from === undefined ? '?to' : '?from', `is after ?to, which is ${to}`);
  }

  if (endOfDay(to) - startOfDay(from) > mostDays * dayMs) {
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
