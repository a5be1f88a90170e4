import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import type { Logger } from '../../runtime/logger.ts';
import { logFailure, named } from './errors.ts';

/**
 * Resets the connection of an answer whose body breaks off, and logs why. The status is sent by then, and over HTTP/1.0,
 * which proxies speak, an ordinary end would look like the end of the whole.
 */
export const resetBroken =
  (log: Logger): Middleware =>
  async (ctx, next) => {
    await next();
    const { body, req } = ctx;
    if (body instanceof Readable) {
      // Before Koa's own listener, which ends the connection in the ordinary way.
      body.prependOnceListener('error', (error: Error) => {
        // Else the client hung up: no fault of ours.
        if (!req.socket.destroyed) {
          logFailure(ctx, named(error), error, log);
          req.socket.resetAndDestroy();
        }
      });
    }
  };
