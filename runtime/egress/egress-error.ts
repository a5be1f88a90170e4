import { errors } from 'undici';

/** Why a request that left for a chosen address failed. Coarse on purpose: a caller may show it, and it tells nothing of the inside. */
const egressErrorCodes = [
  'blocked_destination',
  'dns_error',
  'connection_refused',
  'connection_reset',
  'timeout',
  'tls_error',
  'invalid_response',
] as const;
export type EgressErrorCode = (typeof egressErrorCodes)[number];

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

/** These may be shown to anyone: they tell nothing of the inside. */
const sentences: Readonly<Record<EgressErrorCode, string>> = {
  blocked_destination: 'The address is not one that requests may go to.',
  dns_error: 'The host name could not be resolved.',
  connection_refused: 'The host did not take the connection.',
  connection_reset: 'The connection broke before an answer came.',
  timeout: 'No answer came in time.',
  tls_error: 'No trusted TLS connection could be made.',
  invalid_response: 'The answer was not valid HTTP.',
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
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'invalid_response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
  EPROTO: 'tls_error',
};

/** A refusal of the guard. @param reason In a sentence for the URL's author. */
export const blocked = (reason: string): EgressError =>
  new EgressError('blocked_destination', reason, { maybeSent: false });

/** A failure with the sentence that its code has. The cause is for the log alone. */
export function egressError(
  code: EgressErrorCode,
  options: { maybeSent: boolean; cause?: unknown },
): EgressError {
  return new EgressError(code, sentences[code], options);
}

/** Names what Node or undici threw. An `EgressError` stays as it is. */
export function toEgressError(error: unknown, options: { maybeSent: boolean }): EgressError {
  if (error instanceof EgressError) {
    return error;
  }

  const code = codeOf(error);
  const sentence = areHeadersTooLarge(error) ? headersTooLarge : sentences[code];
  return new EgressError(code, sentence, { ...options, cause: error });
}

/** The most bytes of headers in an answer. */
export const maxHeaderBytes = 16 * 1024;

const headersTooLarge = `The headers of the answer are larger than ${maxHeaderBytes / 1024} KiB.`;

const areHeadersTooLarge = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException).code === 'UND_ERR_HEADERS_OVERFLOW';

function codeOf(error: unknown): EgressErrorCode {
  const { code = '', message } = error as NodeJS.ErrnoException;
  // A "bad" socket error of undici is an answer out of turn: bytes, a `100` or an upgrade that was not asked for.
  const isOutOfTurn = code === 'UND_ERR_SOCKET' && message.startsWith('bad ');
  if (isOutOfTurn || error instanceof errors.HTTPParserError) {
    return 'invalid_response';
  }

  // Certificates have dozens of codes: CERT_HAS_EXPIRED, UNABLE_TO_VERIFY_LEAF_SIGNATURE, ERR_SSL_…
  const isTls = /CERT|SSL|TLS|SIGNATURE|ISSUER/v.test(code);
  return codes[code] ?? (isTls ? 'tls_error' : 'connection_reset');
}
