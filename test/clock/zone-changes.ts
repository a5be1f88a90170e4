const hour = 60 * 60_000;

/** How far a place is ahead of UTC at an instant, in milliseconds. */
export function offsetMs(zone: string, atMs: number): number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value;
  const parts = /GMT(?:(?<sign>[+\-])(?<hours>\d\d):(?<minutes>\d\d))?/v.exec(name ?? '')?.groups;
  const { sign = '+', hours = '0', minutes = '0' } = parts ?? {};
  return Number(`${sign}1`) * (Number(hours) * hour + Number(minutes) * 60_000);
}

/** The next instants at which a place puts its clocks forward and back, in milliseconds since 1970, on whole hours. */
export function nextChanges(zone: string, afterMs: number): { forward: number; back: number } {
  const found: { forward?: number; back?: number } = {};
  const first = Math.ceil(afterMs / hour) * hour;
  for (let at = first; at < afterMs + 400 * 24 * hour; at += hour) {
    const gain = offsetMs(zone, at) - offsetMs(zone, at - hour);
    if (gain !== 0) {
      found[gain > 0 ? 'forward' : 'back'] ??= at;
    }
  }

  const { forward, back } = found;
  if (forward === undefined || back === undefined) {
    throw new Error(`${zone} does not change its clocks twice within a year.`);
  }

  return { forward, back };
}

/** An instant as the clocks of a place show it, with the offset that they have then: what a user's program sends. */
export function localTime(zone: string, atMs: number): string {
  const offset = offsetMs(zone, atMs);
  const wall = new Date(atMs + offset).toISOString().slice(0, 'YYYY-MM-DDThh:mm:ss'.length);
  const size = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return `${wall}${offset < 0 ? '-' : '+'}${size}`;
}
