/** Why an attempt to deliver failed. Coarse: it tells a receiver's owner where to look and nothing of our inside. */
export const deliveryErrors = [
  'blocked_destination',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'timeout',
  'tls_error',
  'invalid_response',
  'redirect',
  'http_error',
  // Nothing was sent: the endpoint is disabled.
  'endpoint_disabled',
  // Workers of ours died over it, or could not write down what came of it.
  'interrupted',
] as const;
export type DeliveryError = (typeof deliveryErrors)[number];

/** Only 2xx is a delivery. A redirect is not followed: it would carry body and signature elsewhere. */
export function errorOfStatus(status: number): DeliveryError | null {
  if (status >= 200 && status <= 299) {
    return null;
  }

  return status >= 300 && status <= 399 ? 'redirect' : 'http_error';
}

const minute = 60_000;
const hour = 60 * minute;

/** Waits between a delivery's attempts, in milliseconds: 6 attempts in all (docs/webhooks.md, What to answer). */
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

/** An endpoint that took nothing for so long is disabled, in milliseconds: at the next delivery that fails for good. */
export const disableAfterMs = 5 * 24 * 3_600_000;

/** How many requests may be under way to one endpoint at a time, over all workers. */
export const slotsPerEndpoint = 4;

/** `failing`: by the service, as nothing was taken for five days. `requested`: by its owner. */
export const disabledReasons = ['failing', 'requested'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** Between two looks for a slot, in milliseconds: the shortest, if many slots come free, and the longest of a few. */
const [shortestLookMs, longestLookMs] = [200, 60_000];

/** Of very many that wait, one looks so often, in milliseconds: and a look costs some 30 of CPU time in all. */
const oneLookMs = 100;

/** Of all that wait for any of the endpoints that hang, where there are many of these, one looks so often. */
const oneLookOfAllMs = 250;

/** To all endpoints that hang together, one request goes out so often, in milliseconds. */
const oneRequestMs = 500;

/**
 * After a request without an answer its slot rests for so long, in milliseconds, for each endpoint that hangs, less the
 * time that the request took: few requests go to many that hang, and one that hangs alone waits for nothing.
 */
export const restPerHungMs = slotsPerEndpoint * oneRequestMs;

/** An endpoint that has no free slot. */
export type BusyEndpoint = {
  /** How many of its deliveries are due and not over. */
  readonly waiting: number;
  /** For how long the slot that was taken first has been held, in milliseconds. */
  readonly heldMs: number;
  /** How many endpoints hang, over all workspaces. */
  readonly hung: number;
};

/**
 * How long a delivery waits that found all slots of its endpoint taken. There is no queue, but all that wait look
 * about as often as a slot comes free: one that answers soon is soon looked at again, and a thousand that wait for
 * one that hangs do not keep a worker busy with looking. Endpoints that hang share what looking may cost.
 *
 * @param random From 0 up to 1. Looks are spread evenly: one that comes right behind a request finds its slot.
 * @returns milliseconds.
 */
export function slotWaitMs({ waiting, heldMs, hung }: BusyEndpoint, random: number): number {
  const turnMs = (waiting * heldMs) / slotsPerEndpoint;
  const lookMs = Math.max(oneLookMs, oneLookOfAllMs * (hung - 1));
  const longestMs = Math.max(longestLookMs, 2 * lookMs * waiting); // Half of it passes on average.
  const withinMs = Math.min(Math.max(turnMs, shortestLookMs), longestMs);
  return Math.ceil(shortestLookMs / 2 + withinMs * random);
}

/**
 * The weight of a delivery's endpoint in Temporal's fairness: how many turns it gets where deliveries of several wait for a worker: the fewer wait for it, the
 * more, as all but the first few would only find its slots taken. It is 1 while no more wait than there are slots.
 *
 * @param waiting How many of the endpoint's deliveries are due and not over.
 * @returns above 0 and at most 1.
 */
export const fairnessWeight = (waiting: number): number =>
  slotsPerEndpoint / Math.max(waiting, slotsPerEndpoint);
