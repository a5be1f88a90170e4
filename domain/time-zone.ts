import { AppError, wrongValue } from './errors.ts';

/** The three-letter names of IANA. Others (`PST`, `BST`, `IST`) are ambiguous abbreviations. */
const shortNames = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/iv;

type Path = '/timezone' | '?timezone';

/** @param path Of the name in the request. @throws AppError `invalid_request` when it is not an IANA name. */
export function assertTimeZone(name: string, path: Path): void {
  if (!/^[A-Za-z]/v.test(name) || (name.length === 3 && !shortNames.test(name))) {
    throw unknownTimeZone(name, path);
  }

  try {
    offsetsOf(name);
  } catch (error) {
    throw error instanceof RangeError ? unknownTimeZone(name, path) : error;
  }
}

/** Suggests the zone of a city that is given without its continent. */
export function unknownTimeZone(name: string, path: Path): AppError {
  const city = `/${name.trim().replaceAll(' ', '_').toLowerCase()}`;
  const zones = Intl.supportedValuesOf('timeZone');
  const nearest = zones.find((zone) => zone.toLowerCase().endsWith(city)) ?? 'Europe/Berlin';
  const sign = path === '?timezone' && / \d/v.test(name) ? '; in a query, write + as %2B' : '';
  const message = `is not a known time zone: ${JSON.stringify(name)}. Give an IANA name, such as ${nearest}${sign}`;
  return wrongValue(path, message);
}

type LocalTime = {
  readonly ms: number;
  /** The time that clocks show then, in the form of `wallMs`. Later than asked if the clocks skip the time. */
  readonly shownMs: number;
  /** Clocks show the time twice. */
  readonly isRepeated: boolean;
};

/**
 * Resolves a local time as JavaScript's Temporal does with `disambiguation: 'compatible'`: the first of two equal
 * times, and a skipped time as long after the change of the clocks as it seems to be.
 *
 * @param wallMs The local time, as milliseconds since 1970 of the same time in UTC.
 */
export function resolveLocal(wallMs: number, zone: string): LocalTime {
  const offsetAt = offsetsOf(zone);
  const before = offsetAt(wallMs - dayMs);
  const after = offsetAt(wallMs + dayMs);
  const isShown = (at: number): boolean => at + offsetAt(at) === wallMs;
  const [first, second] = [wallMs - before, wallMs - after];
  const ms = [first, second].find(isShown) ?? first;
  const isRepeated = first !== second && isShown(first) && isShown(second);
  return { ms, shownMs: ms + offsetAt(ms), isRepeated };
}

/** The time that clocks of a time zone show: `2027-02-01T10:00:00`. */
export const localIn = (time: Date, zone: string): string =>
  new Date(time.getTime() + offsetsOf(zone)(time.getTime()))
    .toISOString()
    .slice(0, -'.000Z'.length);

/** The day that clocks of a time zone show: `2027-02-01`. */
export const dayIn = (time: Date, zone: string): string => localIn(time, zone).slice(0, 10);

const dayMs = 24 * 60 * 60 * 1000;

const offsetForm = /^GMT(?:(?<sign>[+\-])(?<hours>\d\d):(?<minutes>\d\d)(?::(?<seconds>\d\d))?)?$/v;

/** @throws RangeError for an unknown zone. @returns the offset from UTC at a moment, both in milliseconds. */
function offsetsOf(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  return (ms) => {
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value;
    const parts = offsetForm.exec(name ?? '')?.groups;
    if (!parts) {
      throw new Error(`"${name}" is not an offset from UTC.`);
    }

    const { sign, hours = 0, minutes = 0, seconds = 0 } = parts;
    const offset = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
    return (sign === '-' ? -offset : offset) * 1000;
  };
}
