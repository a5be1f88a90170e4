const minute = 60_000;
const hour = 60 * minute;

/** Waits between a delivery's attempts, in milliseconds: 6 attempts in all (specification, Delivery and retries). */
const waitsMs = [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour] as const;

/** The most by which a wait is longer than its step, so that what failed together does not come back together. */
const jitter = 0.1;

/** A receiver may make a wait longer, up to so many times its step: none can hurry us or put us off for ever. */
const longest = 2;

export type Wait = {
  /** What the receiver asked for by Retry-After, in milliseconds. */
  readonly askedMs: number | null;
  /** From 0 up to 1. */
  readonly random: number;
};

/**
 * @param attemptsMade 1 or more.
 * @returns milliseconds until the next attempt, never less than its step, or null when those were all there are.
 */
export function deliveryWaitMs(attemptsMade: number, { askedMs, random }: Wait): number | null {
  const stepMs = waitsMs[attemptsMade - 1];
  if (stepMs === undefined) {
    return null;
  }

  const spreadMs = Math.floor(stepMs * (1 + jitter * random));
  return Math.min(Math.max(spreadMs, askedMs ?? 0), longest * stepMs);
}

/**
 * Reads a Retry-After: seconds, or an HTTP date (RFC 9110, sections 5.6.7 and 10.2.3).
 *
 * @returns milliseconds from now, or null for anything else, what is past included.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,15}$/v.test(text)) {
    return Number(text) * 1000;
  }

  // Date.parse alone takes "2027" and much else that no server means.
  const atMs = /^[A-Z][a-z]{2,8}, .+ GMT$/v.test(text) ? Date.parse(text) : Number.NaN;
  return atMs > nowMs ? atMs - nowMs : null;
}

/** The shortest and the longest time between two looks for a place, in milliseconds. */
const [shortestLookMs, longestLookMs] = [200, 30_000];

/** By how much each look is later than the one before: every look costs Temporal and the database a few statements. */
const slower = 3;

/**
 * How long a delivery waits that found all places of its endpoint taken. Nobody keeps a line: the more often it looked,
 * the longer, since then the endpoint hangs, and a thousand that wait for it must not keep a worker busy with looking.
 *
 * @param looks How often it has looked, 1 or more.
 * @param random From 0 up to 1.
 * @returns milliseconds.
 */
export function placeWaitMs(looks: number, random: number): number {
  const ms = Math.min(shortestLookMs * slower ** (looks - 1), longestLookMs);
  return Math.ceil(ms * (0.5 + random));
}
