/** So many posts of one workspace may be due in the same second and all wake up at their time. */
export const wakeBurst = 200;

/**
 * How fast those beyond it follow, in posts a second: as many as a small Temporal server can publish anyway. Ten
 * thousand timers that fire at once would keep it busy for half a minute with nothing but timers, and whoever is due
 * meanwhile would wait for all of them: queues are shared fairly, timers are not.
 */
export const wakesPerSecond = 60;

/**
 * How much later than its time a post wakes up, in milliseconds.
 *
 * @param before How many posts of its workspace are due in the same second, and before it.
 */
export const wakeDelayMs = (before: number): number =>
  Math.ceil((Math.max(before + 1 - wakeBurst, 0) * 1000) / wakesPerSecond);
