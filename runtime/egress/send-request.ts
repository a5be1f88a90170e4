import type { Readable } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';
import { createGrowingBuffer } from '../growing-buffer.ts';
import type { KeyedSemaphore } from '../keyed-semaphore.ts';
import { blocked, egressError, toEgressError } from './egress-error.ts';
import type { EgressRequest, EgressResponse } from './egress.ts';
import { acquireSlot, parseRequestUrl, requestHeaders, startDeadline } from './prepare-request.ts';
import type { OperatorLists } from './target-policy.ts';

/** How requests leave. */
type Transport = OperatorLists & {
  readonly agent: Agent;
  /** By origin. */
  readonly slots: KeyedSemaphore;
  readonly ownUrl?: string;
};

/** Sends one request and takes its answer whole, as `Egress` says. */
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
  /** Of the answer's body, in bytes. */
  readonly maxBytes: number;
  /** One that has not aborted yet. */
  readonly signal: AbortSignal;
  readonly mayStart: EgressRequest['mayStart'];
  /** Called once undici is through with the request and its connection, which is after the end for one that was given up. */
  readonly onFreed: () => void;
};

/**
 * Speaks to undici one level below `request()`, because only the handler is told the moment before the first byte
 * is written, and `maybeSent` hangs on it: what fails before was certainly not sent. undici itself sends nothing
 * twice here: it puts a request on another connection only as long as it has written none of it.
 *
 * A status line decides. Whatever ends the body after it (the limit, the signal, a break) only cuts it.
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
    // A status below 200 only announces the real one.
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

/** undici refuses a request that is itself wrong (a line end in a header): our bug, and no failure of the network. */
function nameFailure(error: Error, maybeSent: boolean): Error {
  const isOurs = 'code' in error && error.code === 'UND_ERR_INVALID_ARG';
  return isOurs
    ? new TypeError(error.message, { cause: error })
    : toEgressError(error, { maybeSent });
}

/** An answer while it comes in: nothing, then its head, then its body up to a limit. */
type Answer = {
  readonly hasHead: boolean;
  begin(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  /** Keeps what fits; false when there was more, and when what comes is not worth to be read on. */
  add(chunk: Buffer): boolean;
  /** Call it once there is a head. */
  finish(truncated: boolean): EgressResponse;
};

/** @param maxBytes How much of the body is kept. */
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
  /** What a stream does not tell by itself. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends a stream that was not read to its end; a file stays open otherwise. */
  discard(): void;
};

/** What a request sends, in undici's terms. */
function bodyOf({ body }: EgressRequest): Body {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    return { content: body ?? null, headers: {}, discard: () => undefined };
  }

  const { stream, sizeBytes } = body;
  // It may fail while it is not read (yet, or any more). Its reader gets the error all the same.
  stream.on('error', () => {});
  return {
    content: stream,
    headers: { 'content-length': String(sizeBytes) },
    discard: () => stream.destroy(),
  };
}
