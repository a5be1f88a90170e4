import type { Readable } from 'node:stream';

/** Why a request that left for a chosen address failed. Coarse on purpose: a caller may show it, and it tells nothing of the inside. */
export const egressErrorCodes = [
  'blocked_destination',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'timeout',
  'tls_error',
  'invalid_response',
] as const;
export type EgressErrorCode = (typeof egressErrorCodes)[number];

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
  /** Refuses the host of this service itself, where the way out knows it. A webhook there would only come back. */
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

/** The one way out to an address that a user or an operator chose. Follows no redirect, decompresses nothing. */
export type Egress = {
  /** @throws EgressError; its cause is the failure of a streamed body where that is what ended it. */
  request(request: EgressRequest): Promise<EgressResponse>;
  close(): Promise<void>;
};

export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly code: EgressErrorCode;
  /** Whether any byte of the request may have reached the other side. False only when that is certain. */
  readonly maybeSent: boolean;

  constructor(
    code: EgressErrorCode,
    message: string,
    options: { maybeSent: boolean; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.maybeSent = options.maybeSent;
  }
}
