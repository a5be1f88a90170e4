import { Readable } from 'node:stream';
import type { Context, Middleware } from 'koa';
import { isKeyLost } from '../../db/audit.ts';
import { isDatabaseUnavailable } from '../../db/database-errors.ts';
import { AppError, errorCodes, type ErrorCode } from '../../domain/errors.ts';
import { fields, listOf, oneOf, text } from '../../domain/json-schema.ts';
import { countedErrors, describeError, type Logger } from '../../runtime/logger.ts';
import { shownPath } from './log-requests.ts';

export const httpStatusOf: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  empty_body: 400,
  invalid_channel_ids: 400,
  invalid_channel_options: 400,
  invalid_scheduled_at: 400,
  no_channels: 400,
  invalid_content: 400,
  invalid_media_ids: 400,
  invalid_media_url: 400,
  invalid_media: 400,
  idempotency_key_reused: 400,
  invalid_webhook_url: 400,
  invalid_events: 400,
  unauthorized: 401,
  plan_required: 402,
  quota_exceeded: 402,
  scope_missing: 403,
  rights_exceeded: 403,
  channel_not_allowed: 403,
  wrong_key_type: 403,
  not_found: 404,
  method_not_allowed: 405,
  webhook_limit_reached: 409,
  key_limit_reached: 409,
  external_id_taken: 409,
  post_not_editable: 409,
  post_being_sent: 409,
  post_deleted: 409,
  nothing_to_copy: 409,
  post_not_cancellable: 409,
  nothing_to_retry: 409,
  media_in_use: 409,
  network_not_configured: 409,
  channel_not_connected: 409,
  nothing_to_settle: 409,
  settle_too_early: 409,
  nothing_to_unpublish: 409,
  delivery_not_final: 409,
  webhook_disabled: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

export const errorSchema = fields(
  {
    error: { ...text, description: 'A sentence for people.' },
    code: { ...oneOf(errorCodes), description: 'For programs. Each code keeps its meaning.' },
    details: listOf(
      fields(
        {
          path: {
            ...text,
            description:
              'A JSON pointer to the item in the request, or `?name` for a query parameter.',
          },
          message: { ...text, description: 'The problem, as a sentence for people.' },
          quota: { ...text, description: 'With `quota_exceeded`: the quota.' },
          scope: { ...text, description: 'With `scope_missing`: the scope.' },
          channel_id: { ...text, description: 'The channel, where it concerns one.' },
          rule: {
            ...text,
            description:
              'With `invalid_content`: the rule, as in the answer of `POST /posts/validate`.',
          },
          allowed: { ...listOf(text), description: 'Where only some values fit: these.' },
          limit: { type: 'number', description: 'The limit of the size, the quota or the rule.' },
          actual: { type: 'number', description: 'The actual size or value.' },
          used: { type: 'integer', description: 'With `quota_exceeded`: the amount in use.' },
        },
        ['path', 'message'],
      ),
    ),
  },
  ['error', 'code'],
);

/** Default `Retry-After` in seconds when a dependency is unavailable. */
const retryAfter = 2;

/** Converts every thrown error into an error response. Mounted before everything that can fail. */
export const answerErrors =
  (logFailure: LogFailure, unrouted: (ctx: Context) => AppError): Middleware =>
  async (ctx, next) => {
    try {
      await next();
      if ((ctx.status === 404 || ctx.status === 405 || ctx.status === 501) && !ctx.body) {
        throw unrouted(ctx);
      }
    } catch (error) {
      answer(ctx, named(error), error, logFailure);
    }
  };

/** A 500 reveals nothing internal. The log has the details under the same request id. */
export function named(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }

  if (isDatabaseUnavailable(error)) {
    const message =
      'The database is unavailable or busy. Try again; with an Idempotency-Key nothing is created twice.';
    return new AppError('unavailable', message);
  }

  if (isKeyLost(error)) {
    const message =
      'This API key was revoked, expired or lost rights during this call, so nothing was changed.';
    return new AppError('unauthorized', message);
  }

  return new AppError('internal', 'Something went wrong here. Tell the operator the X-Request-Id.');
}

function answer(ctx: Context, error: AppError, cause: unknown, logFailure: LogFailure) {
  const { code, message, details } = error;
  ctx.status = httpStatusOf[code];
  ctx.body = { error: message, code, ...(details ? { details } : {}) };
  if (code === 'unauthorized') {
    ctx.set('WWW-Authenticate', 'Bearer');
    ctx.remove('RateLimit'); // It belongs to a key that ended during the call.
    ctx.remove('RateLimit-Policy');
  }

  if (code === 'unavailable' || error.retryAfter !== undefined) {
    ctx.set('Retry-After', String(error.retryAfter ?? retryAfter));
  }

  logFailure(ctx, error, cause);
}

export type LogFailure = (ctx: Context, error: AppError, cause: unknown) => void;

export function failureLog(log: Logger): LogFailure {
  const countUnavailable = countedErrors(log, 'unavailable');
  return (ctx, { code }, cause) => {
    if (httpStatusOf[code] < 500) {
      return;
    }

    const path = shownPath(ctx.path || '/'); // It is null for `GET redis://localhost`.
    const request = { id: ctx.state['requestId'], method: ctx.method, path };
    const error = describeError(cause);
    if (code === 'unavailable') {
      countUnavailable({ request }, error);
    } else {
      log.error({ request, error }, code);
    }
  };
}

type Socket = Context['req']['socket'];

/** By error code; any other code is a 400. */
const refusals: Readonly<Record<string, { status: string; error: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'The headers of the request are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    error: 'The request did not come within its time.',
  },
};

const broken = {
  status: `${httpStatusOf.invalid_request} Bad Request`,
  error: 'The request is not well-formed HTTP.',
};

/** Answers invalid HTTP, which never reaches Koa, with the usual error body. Handles the server's `clientError`. */
export function answerBroken(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroySoon(); // After another response, or inside of one, this answer could be taken for a part of it.
    return;
  }

  const refusal = refusals[error.code ?? ''] ?? broken;
  const body = JSON.stringify({ error: refusal.error, code: 'invalid_request' });
  socket.end(
    [
      `HTTP/1.1 ${refusal.status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${crypto.randomUUID()}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

/**
 * Resets the connection when a response body fails, and logs why. The status is already sent by then, and over
 * HTTP/1.0, which proxies use, a normal close would look like a complete body.
 */
export const resetBroken =
  (logFailure: LogFailure): Middleware =>
  async (ctx, next) => {
    await next();
    const { body, req } = ctx;
    if (body instanceof Readable) {
      // Before Koa's own listener, which closes the connection normally.
      body.prependOnceListener('error', (error: Error) => {
        // Otherwise the client hung up.
        if (!req.socket.destroyed) {
          logFailure(ctx, named(error), error);
          req.socket.resetAndDestroy();
        }
      });
    }
  };
