import { channelErrors, type ChannelErrorCode } from './channel-error.ts';
import { between } from './pacing.ts';
import type { PostStatus } from './statuses.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Delays between a channel's attempts, in milliseconds (docs/internals/publishing.md, When an attempt fails). */
const publishWaitsMs = [30 * second, 2 * minute, 10 * minute, 30 * minute] as const;

export const maxAttempts = publishWaitsMs.length + 1;

/** A channel fails this long after its post's time, in milliseconds. */
export const publishWindowMs = 24 * hour;

/**
 * Delay after a fault of this service or an unavailable token endpoint, in milliseconds. Such attempts do not count, so
 * it grows with the post's lateness, and stays as short as a repair may go unnoticed.
 */
const growingWaitMs = (lateMs: number): number =>
  between(Math.floor(lateMs / 2), 30 * second, 10 * minute);

/**
 * The shortest delay for a busy network in milliseconds, whatever time it names. Such attempts do not count, so a
 * network that says "in a second" all day would be asked each second.
 */
const limitFloorMs = (lateMs: number): number => between(Math.floor(lateMs / 20), second, minute);

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

const uncounted: ReadonlySet<ChannelErrorCode> = new Set(['rate_limited', 'paced', 'internal']);

/** Delay after a rate limit that names no time, in milliseconds. */
const unnamedRateLimitMs = 60_000;

/**
 * The next step after a failed attempt. The network's own time replaces ours when it is later.
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
    ? (publishWaitsMs[attemptsBefore] ?? null)
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
  failure: Pick<Failure, 'code' | 'retryAtMs'>,
  requestedAtMs: number,
  nowMs: number,
): number | null {
  const next = nextAttempt({ ...failure, lacksToken: true }, 0, requestedAtMs, nowMs);
  return next.kind === 'retry' ? next.atMs : null;
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

/**
 * The next step while it is unknown whether the network has the post: another reconcile, whatever error this attempt
 * met, after as long as the request began before it. A reconcile creates nothing, so it does not count as an attempt.
 * The doubt ends when the network cannot tell, or at the end of the publish window with a last reconcile.
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

  const waitMs = between(openForMs, 30 * second, 30 * minute);
  const atMs = Math.min(Math.max(nowMs + waitMs, retryAtMs), endMs);
  return { kind: 'retry', atMs, counts: isSend };
}

export type FailedAttempt = {
  /** Undefined if the post was deleted. */
  readonly post: PostStatus | undefined;
  /** The network may have a part. */
  readonly isInDoubt: boolean;
  /** The network has a part. */
  readonly isPartLive: boolean;
  /** The next step if the post had not been cancelled. */
  readonly next: NextAttempt;
};

/**
 * The channel's next state. `scheduled`: the post has a new time. `cancelled`: it fails, because the post was
 * cancelled when a part of it was live.
 */
type ChannelFate = 'retry' | 'scheduled' | 'draft' | 'cancelled' | 'unconfirmed' | 'failed';

/** After a cancel nothing more is sent, so another attempt only reconciles what is in doubt. */
export function fateOfChannel({ post, isInDoubt, isPartLive, next }: FailedAttempt): ChannelFate {
  const isDraft = post === 'draft';
  if (next.kind === 'retry' && (post === 'publishing' || (isDraft && isInDoubt))) {
    return 'retry';
  }

  if (post === 'scheduled') {
    return 'scheduled';
  }

  if (isInDoubt) {
    return 'unconfirmed';
  }

  if (isDraft && isPartLive) {
    return 'cancelled';
  }

  return next.kind === 'retry' || next.code === 'cancelled' ? 'draft' : 'failed';
}
