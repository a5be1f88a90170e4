/** Every failure that the API can answer with. The API decides in one table which HTTP status each one means. */
export const errorCodes = [
  'invalid_request',
  'empty_body',
  'invalid_channel_ids',
  'invalid_scheduled_at',
  'no_channels',
  'invalid_content',
  'idempotency_key_reused',
  'invalid_webhook_url',
  'invalid_events',
  'unauthorized',
  'plan_required',
  'not_found',
  'method_not_allowed',
  'webhook_limit_reached',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal',
  'unavailable',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** One thing that is wrong, and where: `path` is a JSON pointer into the request (`''` is the whole of it). */
export type ErrorDetail = { readonly path: string; readonly message: string };

/** A failure with a name. Its message is written for the caller and may be shown to them as it is. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly ErrorDetail[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }
}
