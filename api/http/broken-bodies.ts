import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import type { Logger } from '../../runtime/logger.ts';
import { logFailure, named } from './errors.ts';

/**
 * Resets the connection when a response body fails, and logs why. The status is already sent by then, and over
 * HTTP/1.0, which proxies use, a normal close would look like a complete body.
 */
export const resetBroken =
  (log: Logger): Middleware =>
  async (ctx, next) => {
    await next();
    const { body, req } = ctx;
    if (body instanceof Readable) {
      // Before Koa's own listener, which closes the connection normally.
      body.prependOnceListener('error', (error: Error) => {
        // Otherwise the client hung up.
        if (!req.socket.destroyed) {
          logFailure(ctx, named(error), error, log);
          req.socket.resetAndDestroy();
        }
      });
    }
  };
