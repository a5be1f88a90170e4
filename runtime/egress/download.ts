import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Agent, Dispatcher } from 'undici';
import { headerText } from '../bytes.ts';
import type { KeyedSemaphore } from '../concurrency.ts';
import { createIdleTimeout, type IdleTimeout } from '../timers.ts';
import {
  blocked,
  BodyTooLargeError,
  EgressError,
  egressError,
  toEgressError,
  type Download,
  type Downloader,
  type DownloadRequest,
} from './egress.ts';
import { acquireSlot, requestHeaders, startDeadline } from './send-request.ts';
import { parseUrl } from './target.ts';

type Parts = {
  readonly agent: Agent;
  /** Keyed by origin. */
  readonly slots: KeyedSemaphore;
  /** Makes `close` wait for this work. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
};

/** Follows redirects, which links to pictures often need. The guard checks every hop when it connects. */
export function createDownload({ agent, slots, track }: Parts): Downloader['download'] {
  const hop = async (url: string, request: DownloadRequest, signal: AbortSignal) => {
    const parsed = parseUrl(url);
    if ('refusal' in parsed) {
      throw blocked(parsed.refusal);
    }

    const options = {
      origin: parsed.origin,
      path: parsed.path,
      method: 'GET' as const,
      headers: requestHeaders(request.headers),
    };
    const release = await acquireSlot(slots, parsed.origin, signal);
    const freed = Promise.withResolvers<void>();
    void track(freed.promise);
    const onFreed = () => {
      release();
      freed.resolve();
    };
    return streamExchange(agent, options, { ...request, signal, onFreed });
  };

  return async (request) => {
    const { signal, stop } = startDeadline(request.timeoutMs, request.signal);
    try {
      const found = await follow(request, (url) => hop(url, request, signal));
      void finished(found.body, { writable: false })
        .catch(() => undefined)
        .finally(stop);
      return found;
    } catch (error) {
      stop();
      throw error;
    }
  };
}

type Hop = (url: string) => Promise<Omit<Download, 'url'>>;

/** Follows redirects until a response that is not one. */
async function follow({ url, maxRedirects, maxBytes }: DownloadRequest, hop: Hop) {
  let at = url;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await hop(at);
    const next = targetOf(answer, at);
    if (next === undefined) {
      if (isSuccess(answer.status) && Number(answer.headers['content-length']) > maxBytes) {
        answer.body.destroy();
        throw new BodyTooLargeError(maxBytes);
      }

      return { ...answer, url: at };
    }

    answer.body.destroy();
    if (redirects >= maxRedirects) {
      throw new EgressError('invalid_response', `It redirects more than ${maxRedirects} times.`, {
        maybeSent: true,
      });
    }

    at = next;
  }
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Returns the redirect's target, or undefined. @throws EgressError for an invalid URL. */
function targetOf({ status, headers }: Omit<Download, 'url'>, from: string): string | undefined {
  const location = headers['location'];
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
    return undefined;
  }

  const next = URL.parse(headerText(location), from);
  if (!next) {
    throw blocked('It redirects to an address that is not valid.');
  }

  return next.href;
}

/**
 * Sends one request and returns its response while the body still arrives. Buffers no more than a stream's buffer: a
 * slow reader slows the connection, and this time does not count as a stall of the server.
 *
 * @throws EgressError; so does the body, which may also fail with a BodyTooLargeError.
 */
function streamExchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  limits: AnswerLimits,
): Promise<Omit<Download, 'url'>> {
  const answer = new StreamedAnswer(limits);
  dispatcher.dispatch(options, answer);
  return answer.head;
}

type AnswerLimits = {
  readonly maxBytes: number;
  readonly stallMs: number;
  /** Must not be aborted yet. */
  readonly signal: AbortSignal;
  /** Called when undici has released the request and its connection. */
  readonly onFreed: () => void;
};

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
    if (status >= 200 && this.#state === 'waiting') {
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
    if (this.#length > this.#limits.maxBytes) {
      this.#fail(new BodyTooLargeError(this.#limits.maxBytes));
      return;
    }

    this.#idle.touch();
    if (!this.#body.push(chunk)) {
      this.#idle.pause();
      controller.pause();
    }
  }

  onResponseEnd(): void {
    if (this.#state !== 'over') {
      this.#close();
      this.#body.push(null);
    }

    this.#limits.onFreed();
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#fail(toEgressError(error, { maybeSent: this.#controller !== undefined }));
    this.#limits.onFreed();
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

const givenUp = () => new Error('The download was given up.');

const firstValues = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat()[0] ?? '']),
  );
