import { AppError, cut, wrongValue } from './errors.ts';
import { assertTimeZone, localIn, resolveLocal } from './time-zone.ts';

const minute = 60_000;
const pastTolerance = 5 * minute;
const twoYears = 2 * 366 * 24 * 60 * minute;

export type DueTimeRequest = {
  /** RFC 3339 with `Z` or an offset, or a local time in `timezone`; null or absent saves a draft. */
  readonly scheduled_at?: string | null | undefined;
  /** Wins over `scheduled_at`. 0 means now; fractions are fine. */
  readonly schedule_in_minutes?: number | undefined;
  /** IANA name. */
  readonly timezone?: string | null | undefined;
};

/**
 * When a post is due by the server's clock, or null for a draft. A time up to 5 minutes ago means now.
 *
 * @throws AppError `invalid_scheduled_at`, `invalid_request` for an unknown time zone.
 */
export function dueTime(request: DueTimeRequest, now: Date): Date | null {
  const { scheduled_at: at, schedule_in_minutes: inMinutes, timezone } = request;
  if (typeof timezone === 'string') {
    assertTimeZone(timezone, '/timezone');
  }

  if (inMinutes !== undefined) {
    if (!Number.isFinite(inMinutes) || inMinutes < 0 || inMinutes * minute > twoYears) {
      throw invalid(
        'schedule_in_minutes',
        `must be a number from 0 to ${twoYears / minute} (two years)`,
      );
    }

    return new Date(now.getTime() + inMinutes * minute);
  }

  if (at === undefined || at === null) {
    return null;
  }

  const due = parseInstant(at) ?? localTime(request)?.due;
  if (!due) {
    throw invalid('scheduled_at', whyNoTime(at, timezone, now));
  }

  const ahead = due.getTime() - now.getTime();

  if (ahead < -pastTolerance) {
    throw invalid(
      'scheduled_at',
      `is in the past: ${parseInstant(at) ? '' : `${at} in ${timezone} is ${due.toISOString()}, and `}the server's clock says ${now.toISOString()}. Send a later time, or schedule_in_minutes: 0 to publish now`,
    );
  }

  if (ahead > twoYears) {
    throw invalid(
      'scheduled_at',
      `is more than two years ahead. Send one up to ${new Date(now.getTime() + twoYears).toISOString()}`,
    );
  }

  return ahead < 0 ? now : due;
}

/** RFC 3339, with or without an offset, also of a day or a time that does not exist. */
const timeLike = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+\-]\d\d:\d\d)?$/v;

/** Messages for other forms. */
const faults: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:now)?$/iv,
    'is not a time: schedule_in_minutes: 0 publishes now, and scheduled_at: null makes a draft',
  ],
  [timeLike, 'names a day or a time that does not exist'],
  [/^\d{4}-\d\d-\d\d$/v, 'is a day without a time'],
  [/^\d{4}-\d\d-\d\d +\d/v, 'needs a T between date and time'],
  [/^\d{4}-\d\d-\d\d[Tt]\d:/v, 'needs an hour of two digits'],
  [/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d/v, 'has an ending other than Z or an offset such as +01:00'],
];

/** Says what a `scheduled_at` lacks, with an example. */
function whyNoTime(at: string, timezone: DueTimeRequest['timezone'], now: Date): string {
  const withT = at.replace(/^(?<day>\d{4}-\d\d-\d\d) +(?=\d)/v, '$<day>T');
  const full = withT.replace(/T\d\d:\d\d$/v, '$&:00');
  if (!timezone && parseWall(full)) {
    return `needs Z or an offset, such as ${full}Z or ${full}+02:00, or the field timezone with an IANA name, such as Europe/Berlin`;
  }

  const sample = timezone ? sampleTime(now).slice(0, -1) : sampleTime(now);
  const [, fault = `is not an RFC 3339 time: ${JSON.stringify(cut(at, 40))}`] =
    faults.find(([form]) => form.test(at)) ?? [];
  return `${fault}. Send one such as ${sample}`;
}

/** A valid time for an error, on the next day. */
export const sampleTime = (now: Date): string =>
  `${new Date(now.getTime() + 24 * 60 * minute).toISOString().slice(0, 10)}T09:30:00Z`;

/** The post's `warning` about its time, or null. */
export function timeWarning(request: DueTimeRequest): string | null {
  if (typeof request.scheduled_at === 'string' && request.schedule_in_minutes !== undefined) {
    return 'The request had both scheduled_at and schedule_in_minutes: schedule_in_minutes decided, and scheduled_at was ignored. Send one of them.';
  }

  const { scheduled_at: scheduledAt, timezone } = request;
  const instant = parseInstant(scheduledAt ?? '');
  if (instant && typeof timezone === 'string') {
    const shown = localIn(instant, timezone);
    return scheduledAt?.toUpperCase().startsWith(shown.slice(0, '2027-02-01T10:00'.length))
      ? null
      : `scheduled_at has Z or an offset, so the post is due at ${instant.toISOString()}, when clocks in ${timezone} show ${shown}. Leave out Z and the offset for a local time.`;
  }

  const local = localTime(request);
  if (local?.isRepeated) {
    return `Clocks in ${timezone} show ${local.asked} twice: the post is due at the first time, ${local.due.toISOString()}. Send scheduled_at with an offset for the second.`;
  }

  return local && local.shown !== local.asked
    ? `Clocks in ${timezone} skip ${local.asked}: the post is due when they show ${local.shown}, at ${local.due.toISOString()}.`
    : null;
}

/**
 * The request of an edit. A time zone alone keeps the local time: 09:00 in Berlin becomes 09:00 in New York. A local
 * time alone is in the time zone of the post.
 */
export function withLocalTime<R extends DueTimeRequest>(
  request: R,
  post: { readonly scheduledAt: Date | null; readonly timezone?: string | null | undefined },
): R {
  const { scheduled_at: scheduledAt, schedule_in_minutes: inMinutes, timezone } = request;
  if (timezone === undefined && post.timezone && parseWall(scheduledAt ?? '')) {
    return { ...request, timezone: post.timezone };
  }

  const isAlone = scheduledAt === undefined && inMinutes === undefined;
  const isOther = typeof timezone === 'string' && timezone !== post.timezone;
  return isAlone && isOther && post.timezone && post.scheduledAt
    ? { ...request, scheduled_at: localIn(post.scheduledAt, post.timezone) }
    : request;
}

/** The due time of a `scheduled_at` without an offset, and the local times that were asked for and that clocks show. */
function localTime({ scheduled_at: scheduledAt, timezone }: DueTimeRequest) {
  const wall = parseWall(scheduledAt ?? '');
  if (wall === null || typeof timezone !== 'string') {
    return null;
  }

  const { ms, shownMs, isRepeated } = resolveLocal(wall.getTime(), timezone);
  return { due: new Date(ms), asked: local(wall), shown: local(new Date(shownMs)), isRepeated };
}

/** A time without an offset, as the same time in UTC. */
const parseWall = (text: string): Date | null => parseInstant(`${text}Z`);

const local = (wall: Date): string => wall.toISOString().slice(0, -'.000Z'.length);

/** The form of a time. @param given A blank before its offset was a bare `+` in a query. */
export function timeForm(given: unknown, sample = '2026-05-01T09:30:00Z'): string {
  const isBare = typeof given === 'string' && /T[\d:.]+ \d{2}:?\d{2}$/v.test(given);
  const sign = isBare ? '; in a query, write + as %2B' : '';
  return `a time such as ${sample}, with Z or an offset${sign}`;
}

/** A time in a query. @param now With it, a time that lies ahead is refused. @throws AppError `invalid_request` */
export function queryTime(name: string, given: unknown, now?: Date): Date {
  const instant = typeof given === 'string' ? parseInstant(given) : null;
  const isAhead = instant !== null && now !== undefined && instant > now;
  if (!instant || isAhead) {
    const form = timeForm(
      given,
      now && `${new Date(now.getTime() - 60 * minute).toISOString().slice(0, 19)}Z`,
    );
    const message =
      given === undefined
        ? `is missing: give ${form}`
        : `must be ${isAhead ? `before ${now.toISOString()}, the server's time: ` : ''}${form}`;
    throw wrongValue(`?${name}`, message);
  }

  return new Date(Math.max(0, instant.getTime())); // PostgreSQL has no year 0.
}

function invalid(field: string, message: string): AppError {
  return new AppError('invalid_scheduled_at', `${field} ${message}.`, {
    details: [{ path: `/${field}`, message }],
  });
}

const rfc3339 =
  /^(?<day>\d{4}-\d\d-\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[Zz]|[+\-](?:[01]\d|2[0-3]):[0-5]\d)$/v;

/**
 * An RFC 3339 time with `Z` or an offset; null for anything else. The seconds may be missing, as Java and date fields of
 * browsers leave them out. Stricter than `Date`, which takes 30 February for 2 March and a time without an offset for the
 * server's own.
 */
export function parseInstant(text: string): Date | null {
  const day = rfc3339.exec(text)?.groups?.['day'];
  const [instant, midnight] = [new Date(text.toUpperCase()), new Date(day ?? '')];
  const exists = !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, 10) === day;
  return exists && !Number.isNaN(instant.getTime()) ? instant : null;
}
