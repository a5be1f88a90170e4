const rfc3339 =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[Tt](?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.\d{1,9})?(?:[Zz]|[+\-](?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/v;

/**
 * An RFC 3339 time with `Z` or an offset. Stricter than `Date`, which takes 30 February for 2 March and a time
 * without an offset for the server's own. A leap second is refused: no clock of ours can wait for one.
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
  const instant = new Date(text);
  return exists && !Number.isNaN(instant.getTime()) ? instant : null;
}
