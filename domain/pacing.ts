// Limits what is sent at once: the posts of a workspace that are due together, the late posts of a channel, and the
// attempts at one server.

/**
 * How many posts of one workspace may wake up in the same second. Temporal hands out all tasks that start a post before
 * those that finish one: of 200 at once, four to eight had gone out after six seconds (`npm run bench fairness`).
 */
export const wakeBurst = 20;

/**
 * The rate of the posts beyond the burst: slightly slower than a small Temporal server can publish, so that started
 * posts finish. Temporal shares queues fairly, but not timers.
 */
export const wakesPerSecond = 40;

/** @param before How many posts of the workspace are due in the same second and before it. */
export const wakeDelayMs = (before: number): number =>
  Math.ceil((Math.max(before + 1 - wakeBurst, 0) * 1000) / wakesPerSecond);

const second = 1000;
const minute = 60 * second;

/** A post whose attempt begins more than this after its time waits for its turn. */
export const lateAfterMs = 60 * second;

/**
 * Delay between the sends of a channel's late posts. After an outage, a week's posts must not go out within a second. 2 s
 * keep an account below all known write limits for the first minutes (Bluesky allows one each 2.2 s over an hour).
 */
export const lateSpacingMs = 2 * second;

/**
 * A late post checks again before its turn can come, because posts before it may be cancelled: at half the wait, when
 * that is more than the first of these. The second bounds the checks.
 */
const [exactUpToMs, maxCheckIntervalMs] = [120 * second, 600 * second];

/** More posts before one do not change its wait, so counting stops here. */
export const mostCounted = (2 * maxCheckIntervalMs) / lateSpacingMs;

/**
 * @param queue How many posts of the channel with earlier times are still to go out, up to `mostCounted`, and the time
 *   since its previous late post got its turn; null when there was none.
 * @returns milliseconds until a late post checks its turn again; 0 when it may be sent.
 */
export function waitForTurnMs({
  ahead,
  sinceLastMs,
}: {
  readonly ahead: number;
  readonly sinceLastMs: number | null;
}): number {
  // A negative gap (the clock was set back) counts as a long one.
  const gapMs = sinceLastMs === null ? 0 : Math.max(0, lateSpacingMs - Math.abs(sinceLastMs));
  const turnMs = gapMs + ahead * lateSpacingMs;
  return Math.min(turnMs, Math.max(exactUpToMs, turnMs / 2), maxCheckIntervalMs);
}

/**
 * How many attempts of one worker may run at one server of a network, over all workspaces. A silent server gets few, so
 * that it cannot take a worker's capacity from the network's other servers.
 */
export const slotsPerServer = { answering: 60, silent: 20 } as const;

/** Attempts that a worker makes at a time on one network. */
export const mostOnNetwork = 180;

/** Limit of one workspace: a quarter of all, and never more than are left free. */
export const mostPerWorkspace = mostOnNetwork / 4;

/** How long after an answer a server counts as answering, in milliseconds. */
export const answeringMs = 2 * second;

/** The circuit opens after this many attempts in a row without an answer; then one attempt probes after each pause. */
export const failuresToPause = 5;

/** Pauses between probes, in milliseconds; each is twice the previous one. */
export const pauses = { firstMs: 10 * second, longestMs: minute } as const;

/** A server where an attempt cannot begin now. */
export type BusyServer = {
  /** Consecutive attempts without an answer. */
  readonly failures: number;
  /** Until the pause ends, in milliseconds; 0 when there is none, or while a probe is under way. */
  readonly pausedForMs: number;
  readonly isPaused: boolean;
  /** How long the newest attempt has been under way, in milliseconds. */
  readonly newestForMs: number;
};

const minServerCheckMs = 200;
const maxServerCheckMs = 30 * second;

/**
 * How long an attempt that found no slot at a server waits; there is no queue. It grows with the post's lateness and the
 * silence of the server. After a pause, the first attempt is the probe, so the others are spread out: thousands of posts
 * that wait for a dead server then cost little.
 *
 * @param random From 0 up to 1.
 */
export function serverWaitMs(
  { isPaused, pausedForMs, newestForMs }: Omit<BusyServer, 'failures'>,
  lateMs: number,
  random: number,
): number {
  if (isPaused) {
    return Math.ceil(pausedForMs + random * between(lateMs / 8, second, pauses.longestMs));
  }

  const aboutMs = Math.max(Math.min(lateMs / 4, 2 * second), newestForMs);
  return Math.ceil((0.5 + random) * between(aboutMs, minServerCheckMs, maxServerCheckMs));
}

export const between = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), most);
