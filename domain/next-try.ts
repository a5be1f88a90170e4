import { canRetryLater, type ChannelErrorCode } from './channel-error.ts';
import { internalWaitMs, limitFloorMs, publishWaitMs, publishWindowMs } from './retry-delays.ts';

export type Failure = {
  readonly code: ChannelErrorCode;
  /** When the network said that it takes requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
};

export type NextTry =
  | { readonly kind: 'retry'; readonly atMs: number; readonly counts: boolean }
  | { readonly kind: 'give_up'; readonly code: ChannelErrorCode };

/** A rate limit that names no time is asked again after this long, in milliseconds. */
const unnamedRateLimitMs = 60_000;

/**
 * What follows a failed try: when to try again, or why not.
 *
 * A wait that a rate limit imposes is no try, nor is a fault on our side. A network's own time takes the place of ours
 * when it is later.
 *
 * @param triesBefore Tries of this run that counted, this one not included.
 */
export function nextTry(
  failure: Failure,
  triesBefore: number,
  dueAtMs: number,
  nowMs: number,
): NextTry {
  if (!canRetryLater[failure.code]) {
    return { kind: 'give_up', code: failure.code };
  }

  const { code, retryAtMs } = failure;
  const counts = code !== 'rate_limited' && code !== 'internal';
  const waitMs = counts ? publishWaitMs(triesBefore + 1) : uncountedWaitMs(code, dueAtMs, nowMs);
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

const uncountedWaitMs = (code: ChannelErrorCode, dueAtMs: number, nowMs: number): number =>
  code === 'internal' ? internalWaitMs(nowMs - dueAtMs) : unnamedRateLimitMs;
