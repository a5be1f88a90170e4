import type { KeyedSemaphore } from '../keyed-semaphore.ts';
import { egressError } from './egress-error.ts';
import type { EgressRequest } from './egress.ts';
import { targetProblem, type OperatorLists } from './target-policy.ts';
import { markOwn, parseUrl, type ParsedUrl } from './target.ts';

/** Takes a request's URL apart. One to this service itself is refused where the request wants that. */
export function parseRequestUrl(
  { url, notToSelf }: Pick<EgressRequest, 'url' | 'notToSelf'>,
  { ownUrl, ...lists }: OperatorLists & { readonly ownUrl?: string },
): ParsedUrl {
  const parsed = parseUrl(url);
  if (!notToSelf || 'refusal' in parsed) {
    return parsed;
  }

  const refusal = targetProblem(markOwn(parsed.target, ownUrl), lists);
  return refusal === null ? parsed : { refusal };
}

/** Set by undici, or by `requestHeaders`; a caller who sets them means something that would not happen. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'accept-encoding',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
]);

/** The caller's headers, and the one that keeps answers uncompressed. @throws TypeError for one that is not theirs. */
export function requestHeaders(
  headers: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const own = Object.keys(headers).find((name) => ownHeaders.has(name.toLowerCase()));
  if (own !== undefined) {
    throw new TypeError(`The header ${own} is not the caller's to set.`);
  }

  return { ...headers, 'accept-encoding': 'identity' };
}

/** A signal that aborts when the time is up or the caller's own signal does, whichever is first. */
type Deadline = { readonly signal: AbortSignal; stop(): void };

/** Starts the clock. `stop` frees the timer, which otherwise keeps the process alive. */
export function startDeadline(timeoutMs: number, callerSignal?: AbortSignal): Deadline {
  const clock = new AbortController();
  const timer = setTimeout(() => {
    clock.abort(new Error(`No answer within ${timeoutMs} ms.`));
  }, timeoutMs);
  return {
    signal: callerSignal ? AbortSignal.any([clock.signal, callerSignal]) : clock.signal,
    stop: () => clearTimeout(timer),
  };
}

/**
 * Waits for one of an origin's slots.
 *
 * @returns what releases it.
 * @throws EgressError `timeout` when the signal aborts before the request could begin.
 */
export async function acquireSlot(
  slots: KeyedSemaphore,
  origin: string,
  signal: AbortSignal,
): Promise<() => void> {
  const release = await slots(origin, signal).catch(() => null);
  if (release === null || signal.aborted) {
    release?.();
    throw egressError('timeout', { maybeSent: false, cause: signal.reason });
  }

  return release;
}
