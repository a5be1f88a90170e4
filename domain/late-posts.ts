const second = 1000;

/** A post whose time is past by more than this when its try begins is late, in milliseconds: it waits for its turn. */
export const lateAfterMs = 60 * second;

/**
 * Between the sends of a channel's late posts, in milliseconds. After an outage a week's posts must not go out within
 * a second: followers would see a flood, and networks would call it one. 2 s keep an account below all known limits
 * of writes for the first minutes (Bluesky takes one each 2.2 s over an hour), and the limits themselves do the rest.
 */
export const lateSpacingMs = 2 * second;

/**
 * A late post looks again sooner than its turn can come, as those before it may be cancelled: halfway, when that is
 * more than the first of these away. The second bounds how many looks thousands of waiting posts take. In milliseconds.
 */
const [exactUpToMs, longestLookMs] = [120 * second, 600 * second];

/** More posts than these before one make no difference to its wait, so nobody counts further. */
export const mostCounted = (2 * longestLookMs) / lateSpacingMs;

/** What stands before a late post on its channel. */
export type Queue = {
  /** How many posts with earlier times are still to go out, as far as they were counted. */
  readonly ahead: number;
  /** Since the last late post was let through, in milliseconds; null when there was none. */
  readonly sinceLastMs: number | null;
};

/** @returns milliseconds until a late post looks (again) whether it is its turn; 0 when it is. */
export function waitForTurnMs({ ahead, sinceLastMs }: Queue): number {
  // A clock that was put back is as good as a long time: the last one was let through "in an hour".
  const gapMs = sinceLastMs === null ? 0 : Math.max(0, lateSpacingMs - Math.abs(sinceLastMs));
  const turnMs = gapMs + ahead * lateSpacingMs;
  return Math.min(turnMs, Math.max(exactUpToMs, turnMs / 2), longestLookMs);
}
