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
 * @throws AppError `invalid_scheduled_at` for a time further in the past, over two years ahead, or not a valid time;
 *   `invalid_request` for an unknown time zone.
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

/** Says what a `scheduled_at` lacks, with an example of the same time. */
function whyNoTime(at: string, timezone: DueTimeRequest['timezone'], now: Date): string {
  const withT = at.replace(/^(?<day>\d{4}-\d\d-\d\d) +(?=\d)/v, '$<day>T');
  const full = withT.replace(/T\d\d:\d\d$/v, '$&:00');
  const t = withT === at ? '' : 'a T between date and time';
  const isLocal = parseWall(full) !== null;
  if (t && (parseInstant(full) || (isLocal && timezone))) {
    return `needs ${t}, such as ${full}`;
  }

  if (!isLocal) {
    const isOneOfRfc3339 =
      rfc3339.test(at) || /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d)?$/v.test(at);
    if (!isOneOfRfc3339 && /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/v.test(at)) {
      return `must end with Z or an offset such as +01:00, right after the time, such as ${sampleTime(now)}`;
    }

    const twoDigits = at.replace(/^(?<day>\d{4}-\d\d-\d\d)[Tt ](?=\d:)/v, '$<day>T0');
    if (twoDigits !== at) {
      return `needs an hour of two digits, such as ${twoDigits}`;
    }

    const sample = timezone ? sampleTime(now).slice(0, -1) : sampleTime(now);
    if (isOneOfRfc3339) {
      return `names a day or a time that does not exist; send one such as ${sample}`;
    }

    const fault = /^\d{4}-\d\d-\d\d$/v.test(at)
      ? 'is a day without a time'
      : `is not an RFC 3339 time: ${JSON.stringify(cut(at, 40))}`;
    return `${fault}. Send one such as ${sample}`;
  }

  return `needs ${t && `${t}, and `}Z or an offset, such as ${full}Z or ${full}+02:00, or the field timezone with an IANA name, such as Europe/Berlin`;
}

/** A valid time for an error, on the next day. */
export const sampleTime = (now: Date): string =>
  `${new Date(now.getTime() + 24 * 60 * minute).toISOString().slice(0, 10)}T09:30:00Z`;

/**
 * The post's `warning` about its time: the request has two times, or an offset that is not that of its time zone, or
 * clocks skip or repeat its local time. Otherwise null.
 */
export function timeWarning(request: DueTimeRequest): string | null {
  if (typeof request.scheduled_at === 'string' && request.schedule_in_minutes !== undefined) {
    return 'The request had both scheduled_at and schedule_in_minutes: schedule_in_minutes decided, and scheduled_at was ignored. Send one of them.';
  }

  const { scheduled_at: scheduledAt, timezone } = request;
  const instant = parseInstant(scheduledAt ?? '');
  if (instant && typeof timezone === 'string') {
    const shown = localIn(instant, timezone);
    return scheduledAt?.toUpperCase().startsWith(shown.slice(0, minutes))
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

/** Length of a local time without its seconds. */
const minutes = '2027-02-01T10:00'.length;

/**
 * The request of an edit. A time zone alone keeps the local time: 09:00 in Berlin becomes 09:00 in New York. A local
 * time alone is in the time zone of the post.
 *
 * @param post The stored time and time zone.
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

/**
 * A time in a query.
 *
 * @param now With it, a time that lies ahead is refused.
 * @throws AppError `invalid_request`
 */
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
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[Tt](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.\d{1,9})?)?(?:[Zz]|[+\-](?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/v;

/**
 * An RFC 3339 time with `Z` or an offset. The seconds may be missing, as Java and date fields of browsers leave them out.
 * Stricter than `Date`, which takes 30 February for 2 March and a time without an offset for the server's own. Refuses a
 * leap second, which timers cannot represent.
 *
 * @returns null when it is not such a time, or names a day or hour that does not exist.
 */
export function parseInstant(text: string): Date | null {
  const parts = rfc3339.exec(text)?.groups;
  if (!parts) {
    return null;
  }

  const number = (name: string): number => Number(parts[name] ?? 0);
  const daysInMonth = new Date(Date.UTC(number('year'), number('month'), 0)).getUTCDate();
  const exists =
    number('month') >= 1 &&
    number('month') <= 12 &&
    number('day') >= 1 &&
    number('day') <= daysInMonth &&
    number('hour') <= 23 &&
    number('minute') <= 59 &&
    number('second') <= 59 &&
    number('offsetHour') <= 23 &&
    number('offsetMinute') <= 59;
  const instant = new Date(text.toUpperCase());
  return exists && !Number.isNaN(instant.getTime()) ? instant : null;
}
