import type { Readable } from 'node:stream';

/** A body that is sent as it is read and never held in memory as a whole. */
export type StreamedBody = {
  /** The request owns it and always destroys it. A stream that opens its file only when it is read is best. */
  readonly stream: Readable;
  /** The exact size; the request fails when the stream has more or fewer bytes. */
  readonly sizeBytes: number;
};

export type EgressRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** Refuses this service's own host, where egress knows it: a webhook to it would loop. */
  readonly notToSelf?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | StreamedBody;
  /** Covers DNS, connection, TLS, headers and body together. */
  readonly timeoutMs: number;
  /** Limit for the response's body; the rest is not read. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /**
   * Called right before the first byte is written, which may be long after the call when DNS, the connection or this
   * process hung. When it returns false, nothing is written, and the request fails with `timeout` and
   * `maybeSent: false`.
   */
  readonly mayStart?: () => boolean;
};

export type EgressResponse = {
  readonly status: number;
  /** Names in lower case; the first value where a header came more than once. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body was longer than `maxBytes`, stalled or broke off; `body` holds its beginning. */
  readonly truncated: boolean;
};

/** Sends requests to addresses that a user or an operator chose. Does not follow redirects or decompress. */
export type Egress = {
  /** @throws EgressError; its cause is the error of a streamed body when that ended the request. */
  request(request: EgressRequest): Promise<EgressResponse>;
  close(): Promise<void>;
};

export type DownloadRequest = {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Limit for the body in bytes. Fails when the response announces or sends more. */
  readonly maxBytes: number;
  /** The longest silence of the server: while connecting, before its headers, between two pieces of its body. */
  readonly stallMs: number;
  /** Covers everything, including redirects and body. */
  readonly timeoutMs: number;
  /** Each redirect's address is checked like the first. */
  readonly maxRedirects: number;
  readonly signal?: AbortSignal;
};

export type Download = {
  /** May be an error status; destroy the body unread then. */
  readonly status: number;
  /** Names in lower case; the first value where a header came more than once. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body as it arrives. Fails with an `EgressError` or a `BodyTooLargeError`, and never ends early without an
   * error. Read it to its end or destroy it: it holds a connection.
   */
  readonly body: Readable;
  /** The final URL, after redirects. */
  readonly url: string;
};

/** Fetches bodies that are too large for memory. GET only. */
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
