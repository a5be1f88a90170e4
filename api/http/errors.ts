import type { Context, Middleware } from 'koa';
import { isDatabaseAway } from '../../db/is-away.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import { fields, listOf, text } from '../../domain/json-schema.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { dropRest } from './slow-clients.ts';

/** What each failure means in HTTP. Nothing else decides it. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
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
  not_found: 404,
  method_not_allowed: 405,
  webhook_limit_reached: 409,
  post_not_editable: 409,
  post_not_cancellable: 409,
  nothing_to_retry: 409,
  media_in_use: 409,
  network_not_configured: 409,
  channel_not_connected: 409,
  nothing_to_settle: 409,
  delivery_not_final: 409,
  webhook_disabled: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
};

/** The one shape of errors. */
export const errorSchema = fields(
  {
    error: { ...text, description: 'A sentence for people.' },
    code: { ...text, description: 'For programs. Stable.' },
    details: listOf(
      fields(
        {
          path: { ...text, description: 'A JSON pointer into the request.' },
          message: text,
          quota: { ...text, description: 'With `quota_exceeded`: which one.' },
          channel_id: { ...text, description: 'With `invalid_content`: on which channel.' },
          rule: {
            ...text,
            description: 'With `invalid_content`: as in the answer of `POST /posts/validate`.',
          },
          limit: { type: 'number', description: 'What the quota or the rule allows.' },
          actual: { type: 'number', description: 'With `invalid_content`: what there is.' },
          used: { type: 'integer', description: 'With `quota_exceeded`: what there is.' },
        },
        ['path', 'message'],
      ),
    ),
  },
  ['error', 'code'],
);

/** In seconds: how soon a client should ask again when a part of ours is away. */
const retryAfter = 2;

/** Stands before everything that can fail, and turns what was thrown into the one error shape. */
export const answerErrors =
  (log: Logger): Middleware =>
  async (ctx, next) => {
    try {
      await next();
      if ((ctx.status === 404 || ctx.status === 405 || ctx.status === 501) && !ctx.body) {
        throw unrouted(ctx);
      }
    } catch (error) {
      answer(ctx, named(error), error, log);
    }
  };

/** A known path with another method has its `Allow` header by now; on an unknown one it is empty or missing. */
function unrouted(ctx: Context): AppError {
  return ctx.status === 404 || ctx.response.get('Allow') === ''
    ? new AppError('not_found', `There is no ${ctx.method} ${ctx.path}.`)
    : new AppError('method_not_allowed', `${ctx.path} does not take ${ctx.method}; see Allow.`);
}

/** 500s say nothing of the inside; the log does, under the same request id. */
export function named(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }

  if (isDatabaseAway(error)) {
    return new AppError(
      'unavailable',
      'The database cannot be reached, or is busy, at the moment. Try again; with an Idempotency-Key nothing is made twice.',
    );
  }

  return new AppError('internal', 'Something went wrong here. Tell the operator the X-Request-Id.');
}

/** A path as a log may have it: links to files, and those that connect accounts, need no key. The query is not in it. */
const shown = (path: string): string =>
  path.replace(/^\/(?<kind>files|connect)\/.*/sv, '/$<kind>/…');

function answer(ctx: Context, error: AppError, cause: unknown, log: Logger) {
  const { code, message, details } = error;
  ctx.status = statusOf[code];
  ctx.body = { error: message, code, ...(details ? { details } : {}) };
  if (code === 'unauthorized') {
    ctx.set('WWW-Authenticate', 'Bearer');
  }

  if (code === 'unavailable' || code === 'rate_limited') {
    ctx.set('Retry-After', String(error.retryAfter ?? retryAfter));
  }

  logFailure(ctx, error, cause, log);
}

/** Logs an answer that says of a failure of ours. */
export function logFailure(ctx: Context, { code }: AppError, cause: unknown, log: Logger): void {
  if (statusOf[code] >= 500) {
    const request = { id: ctx.state['requestId'], method: ctx.method, path: shown(ctx.path) };
    log.error({ request, error: describeError(cause) }, code);
  }
}

type Socket = Context['req']['socket'];

/** By the error's code; everything else is 400. */
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
  status: `${statusOf.invalid_request} Bad Request`,
  error: 'The request is not well-formed HTTP.',
};

/**
 * Answers what is no HTTP, and therefore never gets to Koa, in the one shape of errors. For the server's
 * `clientError`.
 */
export function answerBroken(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }

  if (isAnswering(socket)) {
    socket.destroySoon(); // What is written of that answer still goes out.
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
 * Answers an `Expect` other than `100-continue`, which never gets to Koa either. For the server's `checkExpectation`.
 * The connection is closed after it, once the body has been read: cut before, it would take the answer with it.
 */
export function refuseExpectation(request: Context['req'], response: Context['res']): void {
  const error = 'No `Expect` but "100-continue" is known here.';
  const body = JSON.stringify({ error, code: 'invalid_request' });
  response
    .writeHead(417, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Request-Id': crypto.randomUUID(),
      Connection: 'close',
    })
    .write(body);
  request.once('end', () => response.end());
  dropRest(request);
}

/** Whether an answer to an earlier part of the connection is on its way. Node keeps it in that field, and reads it there too. */
function isAnswering(socket: Socket & { readonly _httpMessage?: unknown }): boolean {
  const { _httpMessage: earlier } = socket;
  return typeof earlier === 'object' && earlier !== null && 'headersSent' in earlier
    ? earlier.headersSent === true
    : false;
}
