const second = 1000;
const minute = 60 * second;

/**
 * How many attempts may run at one server of a network, over all workers and workspaces. A server that answered
 * recently gets more slots; a silent one gets few, so that it cannot take a worker's capacity from the network's other
 * servers. A worker runs a hundred attempts per network at a time.
 */
export const slotsPerServer = { answering: 60, silent: 20 } as const;

/**
 * How many channels of one workspace may be sent at a time on one network, over all its servers. A worker sends a
 * hundred at a time, so a workspace that connects many slow servers leaves room for others.
 */
export const mostPerWorkspace = 60;

/** How long after an answer a server counts as answering, in milliseconds. */
export const answeringMs = 2 * second;

/** The circuit opens after this many attempts in a row without an answer; then one attempt probes after each pause. */
export const failuresToPause = 5;

/** Pauses between probes, in milliseconds; each is twice the previous one. */
export const pauses = { firstMs: 10 * second, longestMs: 5 * minute } as const;

/** A server where an attempt cannot begin now. */
type BusyServer = {
  /** Until the pause ends, in milliseconds; 0 when there is none, or while a probe is under way. */
  readonly pausedForMs: number;
  readonly isPaused: boolean;
  /** How long the newest attempt has been under way, in milliseconds. */
  readonly newestForMs: number;
};

const minCheckIntervalMs = 200;
const maxCheckIntervalMs = 30 * second;

/**
 * How long an attempt that found no slot at a server waits; there is no queue. While the server answers, slots come
 * free often, and the wait is a quarter of the post's lateness. While it does not answer, the wait grows with the
 * silence. After a pause, the first attempt is the probe, so the others are spread out, more widely the later the post
 * is: thousands of posts that wait for a dead server then cost little.
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
  return Math.ceil((0.5 + random) * between(aboutMs, minCheckIntervalMs, maxCheckIntervalMs));
}

const between = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), most);
