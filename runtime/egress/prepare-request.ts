import type { KeyedSemaphore } from '../keyed-semaphore.ts';
import { egressError } from './egress-error.ts';
import type { EgressRequest } from './egress.ts';
import { targetProblem, type OperatorLists } from './target-policy.ts';
import { markOwn, parseUrl, type ParsedUrl } from './target.ts';

/** Parses a request's URL. With `notToSelf`, refuses the URL of this service. */
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

/** Set by undici or `requestHeaders`; a caller's value would have no effect. */
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

/** The caller's headers, and one that keeps responses uncompressed. @throws TypeError for a header in `ownHeaders`. */
export function requestHeaders(
  headers: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const own = Object.keys(headers).find((name) => ownHeaders.has(name.toLowerCase()));
  if (own !== undefined) {
    throw new TypeError(`The header ${own} cannot be set by the caller.`);
  }

  return { ...headers, 'accept-encoding': 'identity' };
}

/** A signal that aborts at the deadline or when the caller's signal aborts, whichever is first. */
type Deadline = { readonly signal: AbortSignal; stop(): void };

/** Starts the deadline. `stop` frees the timer, which otherwise keeps the process alive. */
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
 * Waits for a slot of an origin.
 *
 * @returns a function that releases the slot.
 * @throws EgressError `timeout` when the signal aborts before the request could start.
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
