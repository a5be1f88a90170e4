import type { ChannelErrorCode } from './channel-error.ts';
import type { NextTry } from './next-try.ts';
import { publishWindowMs } from './retry-delays.ts';

/** A try that left a request open: the network may have the post. */
export type Doubt = {
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
 * What follows a try after which nobody knows whether the network has the post: another look, whatever this one's error
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
