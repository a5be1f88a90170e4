import type { Readable } from 'node:stream';

export type DownloadRequest = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the body, in bytes. An answer that announces or has more fails. */
  readonly maxBytes: number;
  /** How long the other side may be silent: at the connection, before its headers, between two pieces of its body. */
  readonly stallMs: number;
  /** Over everything, redirects and body included. */
  readonly timeoutMs: number;
  /** How many redirects are followed. Each new address is judged like a first one. */
  readonly maxRedirects: number;
  readonly signal?: AbortSignal;
};

export type Download = {
  /** Also one that is no success: then the body is best destroyed unread. */
  readonly status: number;
  /** Names in lower case; the first value where a header came more than once. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The bytes as they come. Fails with an `EgressError` or a `BodyTooLargeError`, and never ends early without one.
   * Read it to its end or destroy it: it holds a connection.
   */
  readonly body: Readable;
  /** Where it was found in the end. */
  readonly url: string;
};

/** The way out for what is too large to hold in memory. GET only. */
export type Downloader = {
  /** @throws EgressError or BodyTooLargeError */
  download(request: DownloadRequest): Promise<Download>;
};

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';

  constructor(maxBytes: number) {
    super(`The answer is larger than ${maxBytes} bytes.`);
  }
}
