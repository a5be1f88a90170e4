import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { BodyTooLargeError, type Download } from './egress.ts';
import { egressError, toEgressError } from './egress-error.ts';
import { createIdleTimeout, type IdleTimeout } from '../idle-timeout.ts';

export type AnswerLimits = {
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
export class StreamedAnswer implements Dispatcher.DispatchHandler {
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
