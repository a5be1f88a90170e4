import type { Readable } from 'node:stream';

/** A body that is sent as it is read, and never held whole. */
export type StreamedBody = {
  /** The request takes it over: it is destroyed in the end, however that comes. Best one that opens nothing before it is read. */
  readonly stream: Readable;
  /** What the stream will give, exactly; with more or fewer bytes the request fails. */
  readonly sizeBytes: number;
};

export type EgressRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** Refuses the host of this service itself, where egress knows it. A webhook there would only come back. */
  readonly notToSelf?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | StreamedBody;
  /** Over DNS, connection, TLS, headers and body together. */
  readonly timeoutMs: number;
  /** Of the answer's body, in bytes; what comes after is not read. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /**
   * Asked in the moment before the first byte is written, which may be long after the call where a name, a connection or
   * this very process hung. When it says no, nothing is written: a `timeout` that is certainly not sent.
   */
  readonly mayStart?: () => boolean;
};

export type EgressResponse = {
  readonly status: number;
  /** Names in lower case; the first value where a header came more than once. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`, stalled or broke off: `body` holds its beginning. */
  readonly truncated: boolean;
};

/** Sends every request to an address that a user or an operator chose. Follows no redirect, decompresses nothing. */
export type Egress = {
  /** @throws EgressError; its cause is the failure of a streamed body where that is what ended it. */
  request(request: EgressRequest): Promise<EgressResponse>;
  close(): Promise<void>;
};

export type DownloadRequest = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the body, in bytes. An answer that announces or has more fails. */
  readonly maxBytes: number;
  /** How long the other side may be silent: at the connection, before its headers, between two pieces of its body. */
  readonly stallMs: number;
  /** Over everything, redirects and body included. */
  readonly timeoutMs: number;
  /** How many redirects are followed. Each new address is checked like a first one. */
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

/** Fetches what is too large to hold in memory. GET only. */
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
