import { canRetryLater, type ChannelErrorCode } from './channel-error.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits between a channel's tries, in milliseconds: 5 tries in all (docs/publishing.md, When an attempt fails). */
const publishWaitsMs = [30 * second, 2 * minute, 10 * minute, 30 * minute] as const;

/** A channel's tries in all. */
export const mostTries = publishWaitsMs.length + 1;

/** A channel gives up this long after its post's time, in milliseconds. */
export const publishWindowMs = 24 * hour;

/** Waits after what is no try, in milliseconds: soon at first, and never longer than a repair should go unnoticed. */
const growingWaits = { shortestMs: 30 * second, longestMs: 10 * minute };

/** @returns milliseconds until the next try, or null when `triesMade` (1 or more) were all there are. */
export function publishWaitMs(triesMade: number): number | null {
  return publishWaitsMs[triesMade - 1] ?? null;
}

/**
 * How long a fault on our side, or a token endpoint that is away, is left alone. Such tries are not counted, so the waits grow with the time that the post
 * is late: half of it.
 *
 * @returns milliseconds until the next try.
 */
function growingWaitMs(lateMs: number): number {
  const { shortestMs, longestMs } = growingWaits;
  return Math.min(Math.max(Math.floor(lateMs / 2), shortestMs), longestMs);
}

/**
 * The shortest wait for a network that says it is busy, whatever time it names: such waits are not counted, and one that
 * says "in a second" all day long would be asked each second. So it grows with the time that the post is late.
 *
 * @returns milliseconds, from a second to a minute.
 */
const limitFloorMs = (lateMs: number): number =>
  Math.min(Math.max(Math.floor(lateMs / 20), second), minute);

export type Failure = {
  readonly code: ChannelErrorCode;
  /** When the network said that it takes requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
  /** More of its files is on the network than before. */
  readonly hasProgressed?: boolean | undefined;
  /** Nothing could be asked of the network, for want of an access token. */
  readonly lacksToken?: boolean | undefined;
};

export type NextTry =
  | { readonly kind: 'retry'; readonly atMs: number; readonly counts: boolean }
  | { readonly kind: 'give_up'; readonly code: ChannelErrorCode };

/** What is no try, whatever else is known of it. */
const uncounted: ReadonlySet<ChannelErrorCode> = new Set(['rate_limited', 'paced', 'internal']);

/** A rate limit that names no time is asked again after this long, in milliseconds. */
const unnamedRateLimitMs = 60_000;

/**
 * The next step after a failed try: when to try again, or why not.
 *
 * A wait that a rate limit or our own pacing imposes is no try, nor is a fault on our side, nor one that brought more of a file to the
 * network, nor one that had no access token. A network's own time takes the place of ours when it is later.
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

  const { code, retryAtMs, hasProgressed = false, lacksToken = false } = failure;
  const counts = !uncounted.has(code) && !hasProgressed && !lacksToken;
  const waitMs = counts
    ? publishWaitMs(triesBefore + 1)
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

const uncountedWaitMs = (code: ChannelErrorCode, dueAtMs: number, nowMs: number): number =>
  code === 'rate_limited' ? unnamedRateLimitMs : growingWaitMs(nowMs - dueAtMs);

/** A try that left a request open: the network may have the post. */
type Doubt = {
  readonly code: ChannelErrorCode;
  /** When the network said that it takes requests again: milliseconds since 1970. */
  readonly retryAtMs: number | undefined;
  /** Since the request began, in milliseconds. */
  readonly openForMs: number;
  /** Whether this try sent it, or only asked the network what became of it. */
  readonly isSend: boolean;
};

/** Waits between looks, in milliseconds: as long again as the request is open, within these. */
const [shortestMs, longestMs] = [30_000, 30 * 60_000];

/**
 * The next step after a try that leaves open whether the network has the post: another look, whatever this one's error
 * was. A look creates nothing, so it is no try; only a network that says that it cannot tell, and the end of the
 * channel's day, end the doubt. The last look is made at that end.
 */
export function nextLook(
  { code, retryAtMs = 0, openForMs, isSend }: Doubt,
  dueAtMs: number,
  nowMs: number,
): NextTry {
  const endMs = dueAtMs + publishWindowMs;
  if (code === 'unconfirmed' || nowMs >= endMs) {
    return { kind: 'give_up', code: 'unconfirmed' };
  }

  const waitMs = Math.min(Math.max(openForMs, shortestMs), longestMs);
  const atMs = Math.min(Math.max(nowMs + waitMs, retryAtMs), endMs);
  return { kind: 'retry', atMs, counts: isSend };
}
