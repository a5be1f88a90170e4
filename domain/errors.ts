/** Every failure that the API can answer with. The API decides in one table which HTTP status each one means. */
export const errorCodes = [
  'invalid_request',
  'empty_body',
  'invalid_channel_ids',
  'invalid_channel_options',
  'invalid_scheduled_at',
  'no_channels',
  'invalid_content',
  'invalid_media_ids',
  'invalid_media_url',
  'invalid_media',
  'idempotency_key_reused',
  'invalid_webhook_url',
  'invalid_events',
  'unauthorized',
  'plan_required',
  'quota_exceeded',
  'not_found',
  'method_not_allowed',
  'webhook_limit_reached',
  'post_not_editable',
  'post_not_cancellable',
  'nothing_to_retry',
  'media_in_use',
  'network_not_configured',
  'channel_not_connected',
  'nothing_to_settle',
  'delivery_not_final',
  'webhook_disabled',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal',
  'unavailable',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** One thing that is wrong, and where: `path` is a JSON pointer into the request (`''` is the whole of it). */
export type ErrorDetail = {
  readonly path: string;
  readonly message: string;
  /** Of a quota that is used up: which, how much it allows, and how much there is. */
  readonly quota?: string;
  readonly used?: number;
  /** Of content that a network would refuse: on which channel, by which rule, and what there is. */
  readonly channel_id?: string;
  readonly rule?: string;
  readonly actual?: number;
  /** The limit of the quota or the rule. */
  readonly limit?: number;
};

/** More are not told: who sent thousands of faults has the same cause for most of them. */
const mostDetails = 20;

/** In UTF-16 code units: what a caller sent stands in messages and paths, and may be a megabyte. */
const [longestMessage, longestDetail] = [2000, 300];

/** A failure with a name. Its message is written for the caller and may be shown to them as it is. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  /** In how many seconds to ask again, where that is known. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly ErrorDetail[]; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(cut(message, longestMessage), { cause: options.cause });
    this.code = code;
    this.details = options.details?.slice(0, mostDetails).map(cutDetail);
    this.retryAfter = options.retryAfter;
  }
}

/** Without halves of surrogate pairs, by a cut or by the caller: strict readers of JSON refuse the whole answer. */
const cut = (text: string, most: number): string =>
  text.length <= most
    ? text.toWellFormed()
    : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`.toWellFormed();

const cutDetail = ({ path, message, ...numbers }: ErrorDetail): ErrorDetail => ({
  path: cut(path, longestDetail),
  message: cut(message, longestDetail),
  ...numbers,
});

/** An error and what caused it, from the outside in: its `cause`, and the parts of an AggregateError. */
export function causesOf(error: unknown): Error[] {
  const found = new Set<Error>();
  const collect = (one: unknown): void => {
    if (one instanceof Error && !found.has(one)) {
      found.add(one);
      (one instanceof AggregateError ? one.errors : []).forEach(collect);
      collect(one.cause);
    }
  };
  collect(error);
  return [...found];
}
