import { placesPerEndpoint } from './endpoint-health.ts';

const minute = 60_000;
const hour = 60 * minute;

/** Waits between a delivery's attempts, in milliseconds: 6 attempts in all (specification, Delivery and retries). */
const waitsMs = [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour] as const;

/** The most by which a wait is longer than its step, so that what failed together does not come back together. */
const jitter = 0.1;

/** A receiver may make a wait longer, up to so many times its step: none can hurry us or put us off for ever. */
const longest = 2;

/** No delivery waits longer for its next attempt, in milliseconds. */
export const longestWaitMs = longest * Math.max(...waitsMs);

/** So often a request is begun of which no end is known: workers that die count no attempt, and not without end. */
export const mostInterrupted = 6;

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

/** Between two looks for a place, in milliseconds: the shortest, if many places come free, and the longest of a few. */
const [shortestLookMs, longestLookMs] = [200, 60_000];

/** Of very many that wait, one looks so often, in milliseconds: and a look costs some 30 of CPU time in all. */
const oneLookMs = 100;

/** Of all that wait for any of the endpoints that hang, where there are many of these, one looks so often. */
const oneLookOfAllMs = 250;

/** To all endpoints that hang together, one request goes out so often, in milliseconds. */
const oneRequestMs = 500;

/**
 * After a request without an answer its place rests for so long, in milliseconds, for each endpoint that hangs, less the
 * time that the request took: few requests go to many that hang, and one that hangs alone waits for nothing.
 */
export const restPerHungMs = placesPerEndpoint * oneRequestMs;

/** An endpoint that has no free place. */
export type BusyEndpoint = {
  /** How many of its deliveries are due and not over. */
  readonly waiting: number;
  /** For how long the place that was taken first has been held, in milliseconds. */
  readonly heldMs: number;
  /** How many endpoints hang, over all workspaces. */
  readonly hung: number;
};

/**
 * How long a delivery waits that found all places of its endpoint taken. Nobody keeps a line, but all who wait look
 * about as often as a place comes free: one that answers soon is soon looked at again, and a thousand that wait for
 * one that hangs do not keep a worker busy with looking. Endpoints that hang share what looking may cost.
 *
 * @param random From 0 up to 1. Looks are spread evenly: who comes right behind a request finds its place.
 * @returns milliseconds.
 */
export function placeWaitMs({ waiting, heldMs, hung }: BusyEndpoint, random: number): number {
  const turnMs = (waiting * heldMs) / placesPerEndpoint;
  const lookMs = Math.max(oneLookMs, oneLookOfAllMs * (hung - 1));
  const longestMs = Math.max(longestLookMs, 2 * lookMs * waiting); // Half of it passes on average.
  const withinMs = Math.min(Math.max(turnMs, shortestLookMs), longestMs);
  return Math.ceil(shortestLookMs / 2 + withinMs * random);
}
