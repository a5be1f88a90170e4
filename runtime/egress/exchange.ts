import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { isFragmented } from '../bytes.ts';
import { createIdleTimeout, type IdleTimeout } from '../timers.ts';
import {
  BodyTooLargeError,
  EgressError,
  egressError,
  toEgressError,
  type Download,
  type EgressRequest,
} from './egress.ts';

/**
 * Sends one request and returns its response while the body still arrives. Buffers no more than a stream's buffer: a
 * slow reader slows the connection, and this time does not count as a stall of the server.
 *
 * Uses undici's dispatch handler instead of `request()`, because only the handler sees the moment before the first byte
 * is written. A failure before that moment was certainly not sent (`maybeSent`). undici never sends a request twice
 * here: it only moves a request to another connection while none of it was written.
 *
 * @throws EgressError; so does the body, which may also fail with a BodyTooLargeError.
 */
export async function streamExchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limits: AnswerLimits,
): Promise<Head> {
  if (limits.signal.aborted) {
    throw egressError('timeout', { maybeSent: false, cause: limits.signal.reason });
  }

  const answer = new StreamedAnswer(limits);
  dispatcher.dispatch(options, answer);
  return answer.head;
}

type AnswerLimits = {
  readonly maxBytes: number;
  /** The longest silence of the server, in milliseconds. */
  readonly stallMs: number;
  readonly signal: AbortSignal;
  /** As in `EgressRequest`. */
  readonly mayStart?: (() => boolean) | undefined;
};

/** More tiny chunks make a response invalid. */
const mostTinyChunks = 16_384;
const fragmented = 'The response came in very many tiny chunks.';

/** Limit of one answer. Servers send a few `1xx` before it; undici reads any number. */
const mostHeads = 100;

type Controller = Dispatcher.DispatchController;
type Head = Omit<Download, 'url'>;

/** Handles undici's events of one exchange and provides the body as a stream. */
class StreamedAnswer implements Dispatcher.DispatchHandler {
  readonly #limits: AnswerLimits;
  readonly #head = Promise.withResolvers<Head>();
  readonly #body: Readable;
  readonly #idle: IdleTimeout;
  readonly #onAbort = () => this.#failLate(this.#limits.signal.reason);
  #controller: Controller | undefined;
  #state: 'waiting' | 'open' | 'over' = 'waiting';
  #length = 0;
  #chunks = 0;
  #heads = 0;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
    this.#idle = createIdleTimeout(limits.stallMs, () =>
      this.#failLate(new Error(`Nothing came for ${limits.stallMs} ms.`)),
    );
    this.#body = new Readable({
      read: () => this.#goOn(),
      destroy: (error, done) => {
        this.#leave();
        done(error);
      },
    });
    // A reader gets the error from the stream's state, even when it starts late.
    this.#body.on('error', () => {});
    limits.signal.addEventListener('abort', this.#onAbort);
    this.#idle.touch();
  }

  /** Rejects with an EgressError. */
  get head(): Promise<Head> {
    return this.#head.promise;
  }

  onRequestStart(controller: Controller): void {
    if (this.#state === 'waiting' && this.#limits.mayStart?.() === false) {
      this.#fail(egressError('timeout', { maybeSent: false }));
    }

    this.#controller = controller;
    if (this.#state === 'over') {
      controller.abort(givenUp());
    }
  }

  /** 1xx statuses precede the final one and do not show that it will come. */
  onResponseStart(
    _controller: Controller,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#heads += 1;
    if (this.#heads > mostHeads) {
      this.#fail(egressError('invalid_response', { maybeSent: true }));
    } else if (status >= 200 && this.#state === 'waiting') {
      this.#state = 'open';
      this.#idle.touch();
      this.#head.resolve({ status, headers: firstValues(headers), body: this.#body });
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#state !== 'open') {
      return;
    }

    this.#length += chunk.length;
    this.#chunks += 1;
    if (this.#length > this.#limits.maxBytes) {
      this.#fail(new BodyTooLargeError(this.#limits.maxBytes));
    } else if (isFragmented(this.#chunks, this.#length, mostTinyChunks)) {
      this.#fail(new EgressError('invalid_response', fragmented, { maybeSent: true }));
    } else {
      this.#idle.touch();
      if (!this.#body.push(chunk)) {
        this.#idle.pause();
        controller.pause();
      }
    }
  }

  onResponseEnd(): void {
    if (this.#state !== 'over') {
      this.#close();
      this.#body.push(null);
    }
  }

  onResponseError(_controller: Controller, error: Error): void {
    const named = nameFailure(error, this.#controller !== undefined);
    // With `connection: close`, undici reports a body that was cut off as invalid.
    const isCutOff =
      this.#state === 'open' && named instanceof EgressError && named.code === 'invalid_response';
    this.#fail(
      isCutOff ? egressError('connection_reset', { maybeSent: true, cause: error }) : named,
    );
  }

  #goOn(): void {
    if (this.#state === 'open') {
      this.#idle.touch();
      this.#controller?.resume();
    }
  }

  #failLate(cause: unknown): void {
    this.#fail(egressError('timeout', { maybeSent: this.#controller !== undefined, cause }));
  }

  #fail(error: Error): void {
    if (this.#state !== 'over') {
      // Before the head, no caller has the body, so its error would be unhandled.
      const isOpen = this.#state === 'open';
      this.#leave();
      this.#head.reject(error);
      this.#body.destroy(isOpen ? error : undefined);
    }
  }

  /** Aborts the exchange. */
  #leave(): void {
    if (this.#state !== 'over') {
      this.#close();
      this.#controller?.abort(givenUp());
    }
  }

  #close(): void {
    this.#state = 'over';
    this.#idle.pause();
    this.#limits.signal.removeEventListener('abort', this.#onAbort);
  }
}

const givenUp = () => new Error('The request was given up.');

/** undici rejects an invalid request, such as a line break in a header. This is a bug of ours, not a network failure. */
function nameFailure(error: Error, maybeSent: boolean): Error {
  const isOurs = 'code' in error && error.code === 'UND_ERR_INVALID_ARG';
  return isOurs
    ? new TypeError(error.message, { cause: error })
    : toEgressError(error, { maybeSent });
}

const firstValues = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat()[0] ?? '']),
  );

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

/** A signal that aborts at the deadline or with the caller's. `stop` frees the timer, which keeps the process alive. */
export function startDeadline({ timeoutMs, signal }: Pick<EgressRequest, 'timeoutMs' | 'signal'>) {
  const clock = new AbortController();
  const timer = setTimeout(() => {
    clock.abort(new Error(`No answer within ${timeoutMs} ms.`));
  }, timeoutMs);
  return {
    signal: signal ? AbortSignal.any([clock.signal, signal]) : clock.signal,
    stop: () => clearTimeout(timer),
  };
}
