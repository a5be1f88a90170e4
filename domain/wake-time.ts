/**
 * So many posts of one workspace may be due in the same second and all wake up at their time. Each that wakes up asks
 * for a task of its workflow, and Temporal hands out all that begins before anything that could end: of 200 at once,
 * four to eight had gone out after six seconds (`npm run bench fairness` prints it).
 */
export const wakeBurst = 20;

/**
 * How fast those beyond it follow, in posts a second: somewhat slower than a small Temporal server can publish, so that
 * what has begun goes on. Ten thousand timers that fire at once would keep it busy for half a minute with nothing but
 * timers, and whoever is due meanwhile would wait for all of them: queues are shared fairly, timers are not.
 */
export const wakesPerSecond = 40;

/**
 * How much later than its time a post wakes up, in milliseconds.
 *
 * @param before How many posts of its workspace are due in the same second, and before it.
 */
export const wakeDelayMs = (before: number): number =>
  Math.ceil((Math.max(before + 1 - wakeBurst, 0) * 1000) / wakesPerSecond);
