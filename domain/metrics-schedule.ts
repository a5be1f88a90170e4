const [minuteMs, dayMs] = [60_000, 24 * 3_600_000];

/** How often a post's metrics are read, by its age: the metrics of new posts change most. */
const steps: readonly { readonly untilMs: number; readonly everyMs: number }[] = [
  { untilMs: dayMs, everyMs: 15 * minuteMs },
  { untilMs: 7 * dayMs, everyMs: 60 * minuteMs },
  { untilMs: 90 * dayMs, everyMs: dayMs },
  { untilMs: 365 * dayMs, everyMs: 7 * dayMs },
];

/** The intervals between reads of a post, in milliseconds, for a network that sets no longer minimum. */
export const regularReadsMs: readonly number[] = steps.map(({ everyMs }) => everyMs);

/** Delay between publication and the first read, in milliseconds. */
export const firstReadMs = 15 * minuteMs;

/** Lease of a worker on the posts it reads, in milliseconds. Longer than an activity may take. */
export const leaseMs = 15 * minuteMs;

/** @param leastMs The network's minimum interval. @returns null when the post is too old. */
export function nextReadMs(
  publishedAtMs: number,
  readAtMs: number,
  leastMs: number,
): number | null {
  const step = steps.find(({ untilMs }) => readAtMs - publishedAtMs < untilMs);
  return step ? readAtMs + Math.max(step.everyMs, leastMs) : null;
}
