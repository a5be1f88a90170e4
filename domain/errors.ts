import { isId } from './json-schema.ts';

/** Every error code of the API. The API maps each one to an HTTP status in one table. */
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
  'wrong_key_type',
  'quota_exceeded',
  'scope_missing',
  'rights_exceeded',
  'channel_not_allowed',
  'not_found',
  'method_not_allowed',
  'webhook_limit_reached',
  'key_limit_reached',
  'external_id_taken',
  'post_not_editable',
  'post_being_sent',
  'post_deleted',
  'nothing_to_copy',
  'post_not_cancellable',
  'nothing_to_retry',
  'media_in_use',
  'network_not_configured',
  'channel_not_connected',
  'nothing_to_settle',
  'settle_too_early',
  'nothing_to_unpublish',
  'delivery_not_final',
  'webhook_disabled',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal',
  'unavailable',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** One problem in a request. `path` is a JSON pointer into the request (`''` for the whole), `?name` or a header. */
export type ErrorDetail = {
  readonly path: string;
  readonly message: string;
  /** For a quota: its name, and how much of it is used. */
  readonly quota?: string;
  readonly used?: number;
  /** For a missing scope: its name. */
  readonly scope?: string;
  readonly channel_id?: string;
  /** For content that a network would refuse. */
  readonly rule?: string;
  /** For an enum. */
  readonly allowed?: readonly string[];
  /** For a size or a quota: the limit, and the actual size. */
  readonly limit?: number;
  readonly actual?: number;
};

/** A field's name or a map's key as a segment of a JSON pointer (RFC 6901). */
export const pointerToken = (name: string): string =>
  name.replaceAll('~', '~0').replaceAll('/', '~1');

/** A problem with a channel's id. A malformed id is only in the message. */
export const channelDetail = (path: string, message: string, id: string): ErrorDetail =>
  isId(id) ? { path, message, channel_id: id } : { path, message };

export const noChannelHas = (id: string): string =>
  `No connected channel of this workspace has the id ${id.trim() === id ? id : JSON.stringify(id)}.`;

/** Thousands of faults in one request mostly have one cause. */
export const mostDetails = 20;
export const moreProblems = 'More problems are not listed here: correct these first.';

export const firstOf = <T, R>(all: readonly T[], most: number, rest: R): (T | R)[] =>
  all.length > most ? [...all.slice(0, most - 1), rest] : [...all];

/** In UTF-16 code units. Messages and paths quote the caller's input, which may be a megabyte. */
const [longestMessage, longestDetail] = [2000, 300];

/** A failure with a stable code. Its message is written for the caller and may be shown to them. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  /** Seconds after which to repeat the request, where known. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly ErrorDetail[]; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(cut(message, longestMessage), { cause: options.cause });
    this.code = code;
    const all = options.details?.map(cutDetail);
    this.details = all && firstOf(all, mostDetails, { path: '', message: moreProblems });
    this.retryAfter = options.retryAfter;
  }
}

/** An `invalid_request` because of one value. @param message Follows the name of the value: "must be …". */
export const wrongValue = (
  path: string,
  message: string,
  sentence = `${path.replace('/', '')} ${message}.`,
): AppError => new AppError('invalid_request', sentence, { details: [{ path, message }] });

/** Removes lone surrogates, from the cut or from the caller: strict JSON readers reject a response that has one. */
export const cut = (text: string, most: number): string =>
  text.length <= most
    ? text.toWellFormed()
    : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`.toWellFormed();

const cutDetail = ({ path, message, ...numbers }: ErrorDetail): ErrorDetail => ({
  path: cut(path, longestDetail),
  message: cut(message, longestDetail),
  ...numbers,
});

/** An error and its causes, from the outside in: its `cause`, and the errors of an AggregateError. */
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
