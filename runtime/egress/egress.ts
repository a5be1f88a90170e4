import type { Readable } from 'node:stream';
import { errors } from 'undici';

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
  readonly headers: EgressResponse['headers'];
  /**
   * The body as it arrives. Fails with an `EgressError` or a `BodyTooLargeError`, and never ends early without an
   * error. Read it to its end or destroy it: it holds a connection.
   */
  readonly body: Readable;
  /** After redirects. */
  readonly url: string;
};

/** Fetches bodies that are too large for memory. GET only. */
export type Downloader = {
  download(request: DownloadRequest): Promise<Download>;
};

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';

  constructor(maxBytes: number) {
    super(`The answer is larger than ${maxBytes} bytes.`);
  }
}

/** Coarse, so that a caller may show it without exposing internal details. */
const egressErrorCodes = [
  'blocked_destination',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'timeout',
  'tls_error',
  'certificate_expired',
  'invalid_response',
] as const;
export type EgressErrorCode = (typeof egressErrorCodes)[number];

export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly code: EgressErrorCode;
  /** False only when certainly no byte of the request reached the server. */
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

/** Safe to show to anyone: no internal details. */
const sentences: Readonly<Record<EgressErrorCode, string>> = {
  blocked_destination: 'Requests to this address are not allowed.',
  dns_error: 'The host name could not be resolved.',
  connection_refused: 'The host refused the connection or is unreachable.',
  connection_reset: 'The connection was closed before a response arrived.',
  timeout: 'No response arrived in time.',
  tls_error: 'No trusted TLS connection could be made.',
  certificate_expired: 'The certificate of the host has expired.',
  invalid_response: 'The response was not valid HTTP.',
};

const codes: Readonly<Record<string, EgressErrorCode>> = {
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'connection_refused',
  EHOSTDOWN: 'connection_refused',
  ENETUNREACH: 'connection_refused',
  ENETDOWN: 'connection_refused',
  EADDRNOTAVAIL: 'connection_refused',
  EACCES: 'connection_refused',
  EPERM: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  ETIMEDOUT: 'timeout',
  ERR_SOCKET_CONNECTION_TIMEOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'invalid_response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
  EPROTO: 'tls_error',
  CERT_HAS_EXPIRED: 'certificate_expired',
};

/** A refusal by the guard. @param reason In a sentence for the URL's author. */
export const blocked = (reason: string): EgressError =>
  new EgressError('blocked_destination', reason, { maybeSent: false });

export function egressError(
  code: EgressErrorCode,
  options: { maybeSent: boolean; cause?: unknown },
): EgressError {
  return new EgressError(code, sentences[code], options);
}

/** Maps an error of Node or undici to an `EgressError`. Returns an `EgressError` unchanged. */
export function toEgressError(error: unknown, options: { maybeSent: boolean }): EgressError {
  if (error instanceof EgressError) {
    return error;
  }

  const code = codeOf(error);
  const sentence = areHeadersTooLarge(error) ? headersTooLarge : sentences[code];
  return new EgressError(code, sentence, { ...options, cause: error });
}

/** Limit for the headers of a response. */
export const maxHeaderBytes = 16 * 1024;

const headersTooLarge = `The headers of the answer are larger than ${maxHeaderBytes / 1024} KiB.`;

const areHeadersTooLarge = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'UND_ERR_HEADERS_OVERFLOW';

function codeOf(error: unknown): EgressErrorCode {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // undici's "bad" socket errors mean an unexpected response: bytes, a `100` or an upgrade that was not requested.
  const isOutOfTurn = code === 'UND_ERR_SOCKET' && message.startsWith('bad ');
  if (isOutOfTurn || error instanceof errors.HTTPParserError) {
    return 'invalid_response';
  }

  // Certificates have dozens of codes: CERT_NOT_YET_VALID, UNABLE_TO_VERIFY_LEAF_SIGNATURE, ERR_SSL_…
  const isTls = /CERT|SSL|TLS|SIGNATURE|ISSUER/v.test(code);
  return codes[code] ?? (isTls ? 'tls_error' : 'connection_reset');
}
