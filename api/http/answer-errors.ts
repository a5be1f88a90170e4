import type { Context, Middleware } from 'koa';
import { isDatabaseAway } from '../../db/is-away.ts';
import { AppError } from '../../domain/errors.ts';
import { describeError } from '../../runtime/describe-error.ts';
import type { Logger } from '../../runtime/logger.ts';
import { statusOf } from './statuses.ts';

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
function named(error: unknown): AppError {
  if (error instanceof AppError) {
    return error;
  }

  if (isDatabaseAway(error)) {
    return new AppError('unavailable', 'The database cannot be reached at the moment. Try again.');
  }

  return new AppError('internal', 'Something went wrong here. Tell the operator the X-Request-Id.');
}

/** A path as a log may have it: who has the link to a file may see the file. The query is not in it. */
const shown = (path: string): string => path.replace(/^\/files\/.*/sv, '/files/…');

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

  if (ctx.status >= 500) {
    const request = { id: ctx.state['requestId'], method: ctx.method, path: shown(ctx.path) };
    log.error({ request, error: describeError(cause) }, code);
  }
}
