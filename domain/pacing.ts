// Limits the rate of posts that are due together: workflows of a workspace, late posts of a channel, claims of a post.

/**
 * How many posts of one workspace may wake up in the same second. Each requests a workflow task, and Temporal hands out
 * all tasks that start a post before those that finish one: of 200 at once, four to eight had gone out after six
 * seconds (`npm run bench fairness` prints it).
 */
export const wakeBurst = 20;

/**
 * The rate of the posts beyond the burst, per second: slightly slower than a small Temporal server can publish, so that
 * started posts finish. Ten thousand timers that fire at once would keep it busy for half a minute, and other posts
 * that are due would wait: Temporal shares queues fairly, but not timers.
 */
export const wakesPerSecond = 40;

/**
 * The delay of a post's wake-up, in milliseconds.
 *
 * @param before How many posts of its workspace are due in the same second and before it.
 */
export const wakeDelayMs = (before: number): number =>
  Math.ceil((Math.max(before + 1 - wakeBurst, 0) * 1000) / wakesPerSecond);

const second = 1000;

/**
 * A post counts as late when its attempt begins more than this after its time, in milliseconds; it then waits for its
 * turn.
 */
export const lateAfterMs = 60 * second;

/**
 * Delay between the sends of a channel's late posts, in milliseconds. After an outage, a week's posts must not go out
 * within a second: followers and networks would see a flood. 2 s keep an account below all known write limits for the
 * first minutes (Bluesky allows one each 2.2 s over an hour); after that, the networks' own limits apply.
 */
export const lateSpacingMs = 2 * second;

/**
 * A late post checks again before its turn can come, because posts before it may be cancelled: at half the wait, when
 * that is more than the first of these. The second bounds how many checks thousands of waiting posts make. In
 * milliseconds.
 */
const [exactUpToMs, maxCheckIntervalMs] = [120 * second, 600 * second];

/** More posts before one do not change its wait, so counting stops here. */
export const mostCounted = (2 * maxCheckIntervalMs) / lateSpacingMs;

/** The queue before a late post on its channel. */
export type Queue = {
  /** How many posts with earlier times are still to go out, counted up to `mostCounted`. */
  readonly ahead: number;
  /** Time since the channel's previous late post got its turn, in milliseconds; null when there was none. */
  readonly sinceLastMs: number | null;
};

/** @returns milliseconds until a late post checks its turn again; 0 when it may be sent. */
export function waitForTurnMs({ ahead, sinceLastMs }: Queue): number {
  // A negative gap (the clock was set back) counts as a long one.
  const gapMs = sinceLastMs === null ? 0 : Math.max(0, lateSpacingMs - Math.abs(sinceLastMs));
  const turnMs = gapMs + ahead * lateSpacingMs;
  return Math.min(turnMs, Math.max(exactUpToMs, turnMs / 2), maxCheckIntervalMs);
}

const firstClaimRestMs = second;
const maxClaimRestMs = 60 * second;

/**
 * The minimum delay before a workflow claims its post again, in milliseconds, so that it never claims in a loop.
 *
 * @param before How many claims it made shortly before this one.
 */
export const claimRestMs = (before: number): number =>
  Math.min(firstClaimRestMs * 2 ** before, maxClaimRestMs);

/** A claim this long after the previous delay ended, in milliseconds, resets the count. */
export const calmAfterMs = maxClaimRestMs;
