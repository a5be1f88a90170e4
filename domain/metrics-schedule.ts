const [minuteMs, dayMs] = [60_000, 24 * 3_600_000];

/** How often figures of a post are read, by its age: those of young posts move. */
const steps: readonly { readonly untilMs: number; readonly everyMs: number }[] = [
  { untilMs: dayMs, everyMs: 15 * minuteMs },
  { untilMs: 7 * dayMs, everyMs: 60 * minuteMs },
  { untilMs: 90 * dayMs, everyMs: dayMs },
  { untilMs: 365 * dayMs, everyMs: 7 * dayMs },
];

/** How far apart reads of a post are, in milliseconds, where its network does not want them further apart. */
export const regularReadsMs: readonly number[] = steps.map(({ everyMs }) => everyMs);

/** How soon after it was published a post is read first, in milliseconds. */
export const firstReadMs = 15 * minuteMs;

/** A worker that dies leaves its posts to the others after this, in milliseconds: longer than an activity may take. */
export const leaseMs = 15 * minuteMs;

/**
 * When a post's figures are read again: every 15 minutes in its first day, hourly for a week, daily for 90 days, weekly
 * for a year.
 *
 * @param publishedAtMs, readAtMs In milliseconds since 1970.
 * @param leastMs What its network wants between two reads, in milliseconds.
 * @returns null when it is too old.
 */
export function nextReadMs(
  publishedAtMs: number,
  readAtMs: number,
  leastMs: number,
): number | null {
  const step = steps.find(({ untilMs }) => readAtMs - publishedAtMs < untilMs);
  return step ? readAtMs + Math.max(step.everyMs, leastMs) : null;
}
