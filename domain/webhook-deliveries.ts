/** Why a delivery attempt failed. Coarse, so that it reveals no internals. */
export const deliveryErrors = [
  'blocked_destination',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'timeout',
  'tls_error',
  'certificate_expired',
  'invalid_response',
  'redirect',
  'http_error',
  // Nothing was sent, because the endpoint is disabled.
  'endpoint_disabled',
  // Workers crashed during the attempt, or could not store its result.
  'interrupted',
] as const;
export type DeliveryError = (typeof deliveryErrors)[number];

/** Endpoints per workspace (docs/guides/webhooks.md, Limits). */
export const maxEndpoints = 10;

/** Only 2xx is a delivery. Redirects are not followed: the body and signature would go to another server. */
export function errorOfStatus(status: number): DeliveryError | null {
  const hundreds = Math.floor(status / 100);
  return hundreds === 2 ? null : hundreds === 3 ? 'redirect' : 'http_error';
}

const minute = 60_000;
const hour = 60 * minute;

/** Delays between a delivery's attempts, in milliseconds: 6 attempts in all (docs/guides/webhooks.md, What to answer). */
const waitsMs = [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour] as const;

/** Adds up to this share to a delay, so that deliveries that failed together do not return together. */
const jitter = 0.1;

/** `Retry-After` may extend a delay up to this many times its step, and never shortens it. */
const longest = 2;

/** The longest delay before a next attempt, in milliseconds. */
export const longestWaitMs = longest * Math.max(...waitsMs);

/** How often an attempt may begin without a stored result. */
export const mostInterrupted = 6;

/**
 * @param wait What the receiver's Retry-After asked for, and a number from 0 up to 1.
 * @returns milliseconds until the next attempt, at least its step, or null when no attempt is left.
 */
export function deliveryWaitMs(
  attemptsMade: number,
  { askedMs, random }: { readonly askedMs: number | null; readonly random: number },
): number | null {
  const stepMs = waitsMs[attemptsMade - 1];
  if (stepMs === undefined) {
    return null;
  }

  const spreadMs = Math.floor(stepMs * (1 + jitter * random));
  return Math.min(Math.max(spreadMs, askedMs ?? 0), longest * stepMs);
}

/** Reads a Retry-After, seconds or an HTTP date (RFC 9110, 5.6.7 and 10.2.3). @returns null for any other, or the past. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,15}$/v.test(text)) {
    return Number(text) * 1000;
  }

  // Date.parse alone accepts "2027" and other texts that are not HTTP dates.
  const atMs = /^[A-Z][a-z]{2,8}, .+ GMT$/v.test(text) ? Date.parse(text) : Number.NaN;
  return atMs > nowMs ? atMs - nowMs : null;
}

/** An endpoint that accepted nothing for this long is disabled when the next delivery fails finally. */
export const disableAfterMs = 5 * 24 * 3_600_000;

/** How many requests of one worker to one endpoint may be under way. */
export const slotsPerEndpoint = 4;

/** `failing`: disabled by the service after five days without a success. `requested`: disabled by its owner. */
export const disabledReasons = ['failing', 'requested'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

/** Bounds of the delay between two checks for a slot, in milliseconds; a large backlog raises the second one. */
const [minCheckIntervalMs, maxCheckIntervalMs] = [200, 60_000];

/** With a large backlog, one delivery checks per this time. A check costs some 30 ms of CPU time in all. */
const checkCostMs = 100;

/** The same for the deliveries to all unresponsive endpoints together. */
const checkCostPerHungMs = 250;

/**
 * How long a slot rests after a request without an answer for each unresponsive endpoint, less the time that the request
 * took: all of them together get a request per half a second.
 */
export const restPerHungMs = slotsPerEndpoint * 500;

/** An endpoint that has no free slot. */
type BusyEndpoint = {
  /** How many of its deliveries are due and not finished. */
  readonly waiting: number;
  /** How long the oldest held slot has been held. */
  readonly heldMs: number;
  /** How many endpoints are unresponsive, over all workspaces. */
  readonly hung: number;
};

/**
 * How long a delivery waits that found all slots of its endpoint taken. There is no queue: the waiting deliveries
 * together check about as often as a slot comes free. Unresponsive endpoints share one budget of checks.
 *
 * @param random From 0 up to 1, which spreads the checks evenly.
 */
export function slotWaitMs({ waiting, heldMs, hung }: BusyEndpoint, random: number): number {
  const turnMs = (waiting * heldMs) / slotsPerEndpoint;
  const checkMs = Math.max(checkCostMs, checkCostPerHungMs * (hung - 1));
  const longestMs = Math.max(maxCheckIntervalMs, 2 * checkMs * waiting); // Twice the mean: the delay is uniform.
  const withinMs = Math.min(Math.max(turnMs, minCheckIntervalMs), longestMs);
  return Math.ceil(minCheckIntervalMs / 2 + withinMs * random);
}

/** Temporal's fairness weight of an endpoint: only the first few deliveries of a backlog could get a slot. */
export const fairnessWeight = (waiting: number): number =>
  slotsPerEndpoint / Math.max(waiting, slotsPerEndpoint);

/** How long a replaced signing secret still signs beside the new one. */
export const rotationOverlapMs = 24 * 3_600_000;

/** A stored signing secret: sealed, and the few characters that may be shown. */
export type KeptSecret = { readonly sealed: string; readonly hint: string };

/** The secrets in an endpoint's row. */
export type StoredSecrets = {
  readonly sealedSecret: string;
  readonly secretHint: string;
  readonly nextSealedSecret: string | null;
  readonly nextSecretHint: string | null;
  readonly rotatesAt: Date | null;
};

export type SigningSecrets = {
  /** Makes `Service-Signature`. */
  readonly current: KeptSecret;
  /** Makes `Service-Signature-Next` until `rotatesAt`, and `Service-Signature` from then on. */
  readonly next: (KeptSecret & { readonly rotatesAt: Date }) | null;
};

/** The secrets that sign now. The new one takes over at its time without a write to the row. */
export function secretsOf(stored: StoredSecrets, now: Date): SigningSecrets {
  const { nextSealedSecret, nextSecretHint, rotatesAt } = stored;
  const current = { sealed: stored.sealedSecret, hint: stored.secretHint };
  if (nextSealedSecret === null || nextSecretHint === null || rotatesAt === null) {
    return { current, next: null };
  }

  const next = { sealed: nextSealedSecret, hint: nextSecretHint };
  return rotatesAt <= now
    ? { current: next, next: null }
    : { current, next: { ...next, rotatesAt } };
}
