const second = 1000;
const minute = 60 * second;

/**
 * How many tries may be under way at one server of a network, over all workers and workspaces. A server that answers
 * gets as many as it takes; one that has not answered just now gets few, so that one that hangs keeps no worker from
 * the other servers of its network. A worker makes a hundred tries of a network at a time.
 */
export const slotsPerServer = { answering: 60, silent: 20 } as const;

/**
 * How many channels of one workspace may be sent at a time on one network, over all its servers. A worker sends a hundred
 * at a time, so a workspace that connects many slow servers leaves room for others.
 */
export const mostPerWorkspace = 60;

/** For so long after an answer a server counts as answering, in milliseconds. */
export const answeringMs = 2 * second;

/** After so many tries in a row that no server answered, it is left alone, but for one try after each pause. */
export const failuresToPause = 5;

/** Pauses between those tries, in milliseconds: each twice as long as the one before. */
export const pauses = { firstMs: 10 * second, longestMs: 5 * minute } as const;

/** A server at which a try cannot begin now. */
type BusyServer = {
  /** Until the pause ends, in milliseconds; 0 when there is none, or while one try looks whether the server answers. */
  readonly pausedForMs: number;
  readonly isPaused: boolean;
  /** For how long the try that began last has been under way, in milliseconds. */
  readonly newestForMs: number;
};

const shortestLookMs = 200;
const longestLookMs = 30 * second;

/**
 * How long a try waits that found no slot at a server. There is no queue. While the server answers, slots come free
 * all the time, and the wait is a quarter of the post's lateness; while it hangs, it grows with the time without an answer. Behind a
 * pause all that wait are spread out, since the first of them is the one that looks: the longer a post is late the wider,
 * so that thousands that wait for a dead server cost little.
 *
 * @param random From 0 up to 1.
 * @returns milliseconds.
 */
export function serverWaitMs(
  { isPaused, pausedForMs, newestForMs }: BusyServer,
  lateMs: number,
  random: number,
): number {
  if (isPaused) {
    return Math.ceil(pausedForMs + random * between(lateMs / 8, second, pauses.longestMs));
  }

  const aboutMs = Math.max(Math.min(lateMs / 4, 2 * second), newestForMs);
  return Math.ceil((0.5 + random) * between(aboutMs, shortestLookMs, longestLookMs));
}

const between = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), most);
