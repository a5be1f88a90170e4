import { channelErrors, type ChannelErrorCode } from './channel-error.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * Delays between a channel's attempts, in milliseconds: 5 attempts in all (docs/internals/publishing.md, When an attempt fails).
 */
const publishWaitsMs = [30 * second, 2 * minute, 10 * minute, 30 * minute] as const;

export const maxAttempts = publishWaitsMs.length + 1;

/** A channel fails this long after its post's time, in milliseconds. */
export const publishWindowMs = 24 * hour;

/**
 * Delays after failures that do not count, in milliseconds: short at first, and at most as long as a repair may go
 * unnoticed.
 */
const growingWaits = { shortestMs: 30 * second, longestMs: 10 * minute };

/** @returns milliseconds until the next attempt, or null when `attemptsMade` (1 or more) has reached the limit. */
export function publishWaitMs(attemptsMade: number): number | null {
  return publishWaitsMs[attemptsMade - 1] ?? null;
}

/**
 * Delay after a fault of this service or an unavailable token endpoint. Such attempts do not count, so the delay grows:
 * half the post's lateness.
 *
 * @returns milliseconds until the next attempt.
 */
function growingWaitMs(lateMs: number): number {
  const { shortestMs, longestMs } = growingWaits;
  return Math.min(Math.max(Math.floor(lateMs / 2), shortestMs), longestMs);
}

/**
 * The shortest delay for a busy network, whatever time it names. Such attempts do not count, so a network that says
 * "in a second" all day would be asked each second. The delay grows with the post's lateness.
 *
 * @returns milliseconds, from a second to a minute.
 */
const limitFloorMs = (lateMs: number): number =>
  Math.min(Math.max(Math.floor(lateMs / 20), second), minute);

export type Failure = {
  readonly code: ChannelErrorCode;
  /** When the network said that it accepts requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
  /** Whether more of the post's files is on the network than before. */
  readonly hasProgressed?: boolean | undefined;
  /** Whether no request was sent because there was no access token. */
  readonly lacksToken?: boolean | undefined;
};

export type NextAttempt =
  | { readonly kind: 'retry'; readonly atMs: number; readonly counts: boolean }
  | { readonly kind: 'give_up'; readonly code: ChannelErrorCode };

/** Failures that never count as attempts. */
const uncounted: ReadonlySet<ChannelErrorCode> = new Set(['rate_limited', 'paced', 'internal']);

/** Delay after a rate limit that names no time, in milliseconds. */
const unnamedRateLimitMs = 60_000;

/**
 * The next step after a failed attempt: when to retry, or why to give up.
 *
 * These do not count as attempts: a wait for a rate limit or for our own pacing, a fault of this service, an attempt
 * that uploaded more of a file, and one that had no access token. The network's own time replaces ours when it is
 * later.
 *
 * @param attemptsBefore Attempts of this run that counted, without this one.
 */
export function nextAttempt(
  failure: Failure,
  attemptsBefore: number,
  dueAtMs: number,
  nowMs: number,
): NextAttempt {
  if (!channelErrors[failure.code].canRetryLater) {
    return { kind: 'give_up', code: failure.code };
  }

  const { code, retryAtMs, hasProgressed = false, lacksToken = false } = failure;
  const counts = !uncounted.has(code) && !hasProgressed && !lacksToken;
  const waitMs = counts
    ? publishWaitMs(attemptsBefore + 1)
    : hasProgressed
      ? publishWaitsMs[0]
      : uncountedWaitMs(code, dueAtMs, nowMs);
  if (waitMs === null) {
    return { kind: 'give_up', code };
  }

  const atMs =
    code === 'rate_limited'
      ? limitEndMs(retryAtMs, dueAtMs, nowMs)
      : Math.max(nowMs + waitMs, retryAtMs ?? 0);
  return atMs > dueAtMs + publishWindowMs
    ? { kind: 'give_up', code: 'too_late' }
    : { kind: 'retry', atMs, counts };
}

/** When a rate limit ends, in milliseconds since 1970. @param retryAtMs The network's own time, if it named one. */
export const limitEndMs = (retryAtMs: number | undefined, dueAtMs: number, nowMs: number): number =>
  Math.max(nowMs + limitFloorMs(nowMs - dueAtMs), retryAtMs ?? nowMs + unnamedRateLimitMs);

/** A wait of our own names its time. */
const uncountedWaitMs = (code: ChannelErrorCode, dueAtMs: number, nowMs: number): number =>
  code === 'rate_limited'
    ? unnamedRateLimitMs
    : code === 'paced'
      ? 0
      : growingWaitMs(nowMs - dueAtMs);

/**
 * When a failed removal is tried again, in milliseconds since 1970; null to give up. Deleting can be repeated, so only
 * time limits the attempts: a day from the request.
 */
export function nextRemovalMs(
  { code, retryAtMs }: Pick<Failure, 'code' | 'retryAtMs'>,
  requestedAtMs: number,
  nowMs: number,
): number | null {
  if (!channelErrors[code].canRetryLater) {
    return null;
  }

  const waitMs = uncountedWaitMs(code, requestedAtMs, nowMs);
  const atMs =
    code === 'rate_limited'
      ? limitEndMs(retryAtMs, requestedAtMs, nowMs)
      : Math.max(nowMs + waitMs, retryAtMs ?? 0);
  return atMs > requestedAtMs + publishWindowMs ? null : atMs;
}

/** The state after an attempt whose request may have reached the network. */
type Doubt = {
  readonly code: ChannelErrorCode;
  /** When the network said that it accepts requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
  /** Since the request began, in milliseconds. */
  readonly openForMs: number;
  /** Whether this attempt sent the request; false when it only asked the network for the result. */
  readonly isSend: boolean;
};

/** Bounds of the delay between reconciles, in milliseconds. The delay equals the time since the request began. */
const [shortestMs, longestMs] = [30_000, 30 * 60_000];

/**
 * The next step while it is unknown whether the network has the post: another reconcile, whatever error this attempt
 * met. A reconcile creates nothing, so it does not count as an attempt. The doubt ends when the network cannot tell, or
 * at the end of the publish window, where the last reconcile is made.
 */
export function nextReconcile(
  { code, retryAtMs = 0, openForMs, isSend }: Doubt,
  dueAtMs: number,
  nowMs: number,
): NextAttempt {
  const endMs = dueAtMs + publishWindowMs;
  if (code === 'unconfirmed' || nowMs >= endMs) {
    return { kind: 'give_up', code: 'unconfirmed' };
  }

  const waitMs = Math.min(Math.max(openForMs, shortestMs), longestMs);
  const atMs = Math.min(Math.max(nowMs + waitMs, retryAtMs), endMs);
  return { kind: 'retry', atMs, counts: isSend };
}
