// How fast posts go on that are due together: the workflows of a workspace, the late posts of a channel, and the
// claims of one post.

/**
 * So many posts of one workspace may be due in the same second and all wake up at their time. Each that wakes up asks
 * for a task of its workflow, and Temporal hands out all that begins before anything that could end: of 200 at once,
 * four to eight had gone out after six seconds (`npm run bench fairness` prints it).
 */
export const wakeBurst = 20;

/**
 * How fast those beyond it follow, in posts a second: somewhat slower than a small Temporal server can publish, so that
 * what has begun goes on. Ten thousand timers that fire at once would keep it busy for half a minute with nothing but
 * timers, and posts that are due meanwhile would wait for all of them: queues are shared fairly, timers are not.
 */
export const wakesPerSecond = 40;

/**
 * How much later than its time a post wakes up, in milliseconds.
 *
 * @param before How many posts of its workspace are due in the same second, and before it.
 */
export const wakeDelayMs = (before: number): number =>
  Math.ceil((Math.max(before + 1 - wakeBurst, 0) * 1000) / wakesPerSecond);

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

/** More posts than these before one make no difference to its wait, so counting ends here. */
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

const firstRestMs = second;
const longestRestMs = 60 * second;

/**
 * How long a workflow waits at least before it claims its post once more, in milliseconds: whatever the row and the
 * messages say, it does not claim in a loop.
 *
 * @param before How many claims it made shortly before this one.
 */
export const claimRestMs = (before: number): number =>
  Math.min(firstRestMs * 2 ** before, longestRestMs);

/** A claim so long after the rest of the one before it, in milliseconds, is not made in haste: counting begins anew. */
export const calmAfterMs = longestRestMs;
