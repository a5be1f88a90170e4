import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { createGrowingBuffer } from '../bytes.ts';
import type { KeyedSemaphore } from '../concurrency.ts';
import {
  blocked,
  egressError,
  toEgressError,
  type EgressRequest,
  type EgressResponse,
} from './egress.ts';
import { markOwn, parseUrl, targetProblem, type OperatorLists, type ParsedUrl } from './target.ts';

type Transport = OperatorLists & {
  readonly agent: Agent;
  /** Keyed by origin. */
  readonly slots: KeyedSemaphore;
  readonly ownUrl?: string;
};

/** Sends one request and reads its whole response, as `Egress` describes. */
export async function sendRequest(
  request: EgressRequest,
  { agent, slots, ...guard }: Transport,
): Promise<EgressResponse> {
  const body = bodyOf(request);
  const url = parseRequestUrl(request, guard);
  if ('refusal' in url) {
    body.discard();
    throw blocked(url.refusal);
  }

  const options: Dispatcher.DispatchOptions = {
    origin: url.origin,
    path: url.path,
    method: request.method,
    headers: { ...requestHeaders(request.headers), ...body.headers },
    body: body.content,
  };
  const { signal, stop } = startDeadline(request.timeoutMs, request.signal);
  try {
    const onFreed = await acquireSlot(slots, url.origin, signal);
    const { maxBytes, mayStart } = request;
    return await exchange(agent, options, { maxBytes, mayStart, signal, onFreed });
  } finally {
    stop();
    body.discard();
  }
}

type Limits = {
  /** Limit for the response's body, in bytes. */
  readonly maxBytes: number;
  /** Must not be aborted yet. */
  readonly signal: AbortSignal;
  readonly mayStart: EgressRequest['mayStart'];
  /**
   * Called when undici has released the request and its connection; for an abandoned request, this is after the result.
   */
  readonly onFreed: () => void;
};

/**
 * Uses undici's dispatch handler instead of `request()`, because only the handler sees the moment before the first byte
 * is written. A failure before that moment was certainly not sent (`maybeSent`). undici never sends a request twice
 * here: it only moves a request to another connection while none of it was written.
 *
 * Once the status line has arrived, the request succeeds: the limit, the signal or a break then only truncates the
 * body.
 *
 * @throws EgressError
 */
function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { maxBytes, signal, mayStart = () => true, onFreed }: Limits,
): Promise<EgressResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<EgressResponse>();
  const answer = createAnswer(maxBytes);
  let controller: Dispatcher.DispatchController | undefined;
  let isSettled = false;

  const settle = (finish: () => void) => {
    if (!isSettled) {
      isSettled = true;
      signal.removeEventListener('abort', giveUp);
      finish();
    }
  };
  const breakOff = (error: unknown) =>
    settle(() => (answer.hasHead ? resolve(answer.finish(true)) : reject(error)));
  const giveUp = () => {
    const maybeSent = controller !== undefined;
    breakOff(egressError('timeout', { maybeSent, cause: signal.reason }));
    controller?.abort(givenUp());
  };

  signal.addEventListener('abort', giveUp);
  dispatcher.dispatch(options, {
    onRequestStart(current) {
      if (!isSettled && !mayStart()) {
        settle(() => reject(tooLate()));
      }

      controller = current;
      if (isSettled) {
        current.abort(givenUp());
      }
    },
    // 1xx statuses precede the final one.
    onResponseStart(_controller, status, headers) {
      if (status >= 200) {
        answer.begin(status, headers);
      }
    },
    onResponseData(current, chunk) {
      if (!isSettled && !answer.add(chunk)) {
        settle(() => resolve(answer.finish(true)));
        current.abort(givenUp());
      }
    },
    onResponseEnd() {
      settle(() => resolve(answer.finish(false)));
      onFreed();
    },
    onResponseError(_controller, error) {
      breakOff(nameFailure(error, controller !== undefined));
      onFreed();
    },
  });
  return promise;
}

const tooLate = () => egressError('timeout', { maybeSent: false });
const givenUp = () => new Error('The request was given up.');

/**
 * undici rejects an invalid request, such as a line break in a header. This is a bug of ours, not a network failure.
 */
function nameFailure(error: Error, maybeSent: boolean): Error {
  const isOurs = 'code' in error && error.code === 'UND_ERR_INVALID_ARG';
  return isOurs
    ? new TypeError(error.message, { cause: error })
    : toEgressError(error, { maybeSent });
}

/** A response in progress: nothing, then its head, then its body up to a limit. */
type Answer = {
  readonly hasHead: boolean;
  begin(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  /**
   * Keeps the bytes that fit. Returns false when there were more, or when the pieces are too small to continue reading.
   */
  add(chunk: Buffer): boolean;
  /** Requires a head. */
  finish(truncated: boolean): EgressResponse;
};

/** @param maxBytes Limit for the body. */
function createAnswer(maxBytes: number): Answer {
  const body = createGrowingBuffer();
  let head: Pick<EgressResponse, 'status' | 'headers'> | undefined;

  return {
    get hasHead() {
      return head !== undefined;
    },
    begin(status, headers) {
      const first = Object.entries(headers).map(([name, value]) => [name, [value].flat()[0] ?? '']);
      head = { status, headers: Object.fromEntries(first) };
    },
    add(chunk) {
      const kept = chunk.subarray(0, maxBytes - body.length);
      body.append(kept);
      return kept.length === chunk.length && !body.isFragmented;
    },
    finish(truncated) {
      if (!head) {
        throw new Error('The answer has not begun.');
      }

      return { ...head, body: body.bytes(), truncated };
    },
  };
}

type Body = {
  readonly content: string | Uint8Array | Readable | null;
  /** The length, which a stream does not carry. */
  readonly headers: Readonly<Record<string, string>>;
  /** Destroys a stream that was not read to its end; otherwise its file stays open. */
  discard(): void;
};

/** Converts the body to undici's terms. */
function bodyOf({ body }: EgressRequest): Body {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    return { content: body ?? null, headers: {}, discard: () => undefined };
  }

  const { stream, sizeBytes } = body;
  // It may fail while nothing reads it. Its reader still gets the error.
  stream.on('error', () => {});
  return {
    content: stream,
    headers: { 'content-length': String(sizeBytes) },
    discard: () => stream.destroy(),
  };
}

/** Parses a request's URL. With `notToSelf`, refuses the URL of this service. */
function parseRequestUrl(
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
