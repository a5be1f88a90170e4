import type { ApiErrorDetail, ErrorCode } from './types.ts';

/** An answer of the API that refuses a call. The message says what is wrong and what to do next. */
export class PunctualError extends Error {
  override readonly name = 'PunctualError';
  /** HTTP status. */
  declare readonly status: number;
  /** A code of the API, or `unknown` if something else answered, such as a proxy. Later versions may add codes. */
  declare readonly code: ErrorCode | 'unknown' | (string & {});
  /** The problem with each field. */
  declare readonly details: readonly ApiErrorDetail[];
  /** Address of the call. */
  declare readonly url: string;
  /** Identifies the call in the service's logs. */
  declare readonly requestId: string | null;
  /** Seconds after which the call may succeed; null if the API did not say. */
  declare readonly retryAfterS: number | null;

  constructor(response: Response, body: unknown) {
    const { error, code, details } = (body ?? {}) as {
      readonly error?: unknown;
      readonly code?: unknown;
      readonly details?: readonly ApiErrorDetail[];
    };
    super(typeof error === 'string' ? error : `The server answered ${response.status}.`);
    this.status = response.status;
    this.code = typeof code === 'string' ? code : 'unknown';
    this.details = Array.isArray(details) ? details : [];
    this.url = response.url;
    this.requestId = response.headers.get('x-request-id');
    const seconds = response.headers.get('retry-after');
    this.retryAfterS = /^\d{1,9}$/.test(seconds ?? '') ? Number(seconds) : null;
  }
}

/** No complete answer came: the server is away, the connection broke, or the time limit passed. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Whether the call may have had its effect. False for calls that only read. */
  declare readonly mayHaveHappened: boolean;

  constructor(message: string, mayHaveHappened: boolean, cause: unknown) {
    super(message, { cause });
    this.mayHaveHappened = mayHaveHappened;
  }
}
