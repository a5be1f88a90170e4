const clock = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/Los_Angeles',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
});

/**
 * When YouTube's quotas are reset: the next midnight in the Pacific time zone, in milliseconds since 1970.
 *
 * Source: https://developers.google.com/youtube/v3/determine_quota_cost
 */
export function nextPacificMidnight(nowMs: number): number {
  const { year, month, day } = localTime(nowMs);
  // UTC-7 in summer, UTC-8 in winter. Clocks change at two in the morning, so each day has exactly one midnight.
  const [summer, winter] = [7, 8].map((hour) => Date.UTC(year, month - 1, day + 1, hour));
  return localTime(summer ?? 0).hour === 0 ? (summer ?? 0) : (winter ?? 0);
}

function localTime(atMs: number) {
  const parts = new Map(clock.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return { year: part('year'), month: part('month'), day: part('day'), hour: part('hour') };
}
