const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits between a channel's tries, in milliseconds: 5 tries in all (spec/decisions, Publishing). */
const publishWaitsMs = [30 * second, 2 * minute, 10 * minute, 30 * minute] as const;

/** A channel's tries in all. */
export const mostTries = publishWaitsMs.length + 1;

/** A channel gives up this long after its post's time, in milliseconds. */
export const publishWindowMs = 24 * hour;

/** Waits after a fault on our side, in milliseconds: soon at first, and never longer than a repair should go unnoticed. */
const internalWaits = { shortestMs: 30 * second, longestMs: 10 * minute };

/** @returns milliseconds until the next try, or null when `triesMade` (1 or more) were all there are. */
export function publishWaitMs(triesMade: number): number | null {
  return publishWaitsMs[triesMade - 1] ?? null;
}

/**
 * How long a fault on our side is left alone. Such tries are not counted, so the waits grow with the time that the post
 * is late: half of it.
 *
 * @returns milliseconds until the next try.
 */
export function internalWaitMs(lateMs: number): number {
  const { shortestMs, longestMs } = internalWaits;
  return Math.min(Math.max(Math.floor(lateMs / 2), shortestMs), longestMs);
}

/**
 * The shortest wait for a network that says it is busy, whatever time it names: such waits are not counted, and one that
 * says "in a second" all day long would be asked each second. So it grows with the time that the post is late.
 *
 * @returns milliseconds, from a second to a minute.
 */
export const limitFloorMs = (lateMs: number): number =>
  Math.min(Math.max(Math.floor(lateMs / 20), second), minute);
