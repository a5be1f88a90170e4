import { UsageError } from '../../failures.ts';
import { ownZone } from '../../table.ts';

/** The time of a post, as the API takes it. */
export type When = { readonly timezone?: string } & (
  | { readonly scheduled_at: string }
  | { readonly schedule_in_minutes: number }
);

export const whenForms =
  '"now", "in 2 hours", "9:00", "tomorrow 9:00", "monday 5:30pm", 2027-03-01T09:00, or with an offset 2027-03-01T09:00+01:00';

const minutesIn: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60, w: 7 * 24 * 60 };

/** Reads `--at`. The API decides what local times mean where clocks change. @throws UsageError */
export function parseWhen(given: string, zone: string | undefined, now: Date): When {
  // The post keeps it as its time zone.
  const inZone = zone === undefined ? {} : { timezone: zone };
  const words = given.trim().toLowerCase().replaceAll(/\s+/gv, ' ');
  if (words === 'now') {
    return { schedule_in_minutes: 0, ...inZone };
  }

  const span = /^in (?<count>\d{1,5}) ?(?<unit>[mhdw]|min(?:ute)?s?|hours?|days?|weeks?)$/v.exec(
    words,
  );
  if (span?.groups) {
    const { count, unit = '' } = span.groups;
    return { schedule_in_minutes: Number(count) * (minutesIn[unit[0] ?? ''] ?? 1), ...inZone };
  }

  if (/^\d{4}-\d\d-\d\dt\S+(?:z|[+\-]\d\d:\d\d)$/v.test(words)) {
    return { scheduled_at: words.toUpperCase(), ...inZone };
  }

  const timezone = zone ?? zoneOfMachine();
  const local = localTimeOf(words, wallClock(now, timezone));
  if (local === null) {
    throw new UsageError(`--at "${given}" is not a time. It can be ${whenForms}.`);
  }

  return { scheduled_at: local, timezone };
}

/** Node takes another zone, without a word, for a TZ such as CET-1CEST. @throws UsageError */
function zoneOfMachine(): string {
  const name = process.env['TZ']?.replace(/^:/v, '') ?? ownZone();
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    throw new UsageError(`TZ=${name} is not the name of a time zone; give --timezone.`);
  }
}

/** The local time in the zone, such as `2027-03-01T09:00`. @throws UsageError for an unknown zone. */
function wallClock(now: Date, timeZone: string): string {
  try {
    const form = { dateStyle: 'short', timeStyle: 'short', timeZone } as const;
    return new Intl.DateTimeFormat('sv-SE', form).format(now).replace(' ', 'T');
  } catch {
    throw new UsageError(`--timezone "${timeZone}" is not a time zone such as Europe/Berlin.`);
  }
}

/** @param now A local time. @returns a local time; null for any other text. */
function localTimeOf(words: string, now: string): string | null {
  const parts =
    /^(?:(?<day>\d{4}-\d\d-\d\d|[a-z]+)(?:t| at | ))?(?<clock>\d[\d:]*(?: ?[ap]m)?)$/v.exec(
      words,
    )?.groups;
  const time = clockTime(parts?.['clock'] ?? '');
  const day = parts?.['day'];
  if (time === null || (day !== undefined && !isDay(day))) {
    return null;
  }

  if (day !== undefined && /^\d/v.test(day)) {
    return `${day}T${time}`;
  }

  const today = now.slice(0, 10);
  const isPast = `${today}T${time}` <= now;
  return `${dayAfter(today, daysUntil(day, today, isPast))}T${time}`;
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const weekdayOf = (name: string): number =>
  weekdays.findIndex((day) => day === name || day.slice(0, 3) === name);

const isDay = (name: string): boolean =>
  /^\d|^today$|^tomorrow$/v.test(name) || weekdayOf(name) >= 0;

/** @param isPast Whether the time of day has passed today. */
function daysUntil(day: string | undefined, today: string, isPast: boolean): number {
  if (day === undefined) {
    return isPast ? 1 : 0;
  }

  if (day === 'today' || day === 'tomorrow') {
    return day === 'today' ? 0 : 1;
  }

  const days = (weekdayOf(day) - new Date(`${today}T00:00Z`).getUTCDay() + 7) % 7;
  return days === 0 && isPast ? 7 : days;
}

const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);

/** `9:00`, `21:30:15`, `9am` or `9:30 pm` in 24 hours with leading zeros; null for any other text. */
function clockTime(text: string): string | null {
  const form = /^(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?<second>:\d\d)? ?(?<half>[ap]m)?$/v;
  const { hour = '', minute, second = '', half } = form.exec(text)?.groups ?? {};
  if (hour === '' || (minute === undefined && half === undefined)) {
    return null;
  }

  if (half !== undefined && (Number(hour) < 1 || Number(hour) > 12)) {
    return null;
  }

  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
  return hours > 23 ? null : `${String(hours).padStart(2, '0')}:${minute ?? '00'}${second}`;
}
