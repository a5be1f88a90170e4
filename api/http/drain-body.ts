import type { Middleware } from 'koa';

/** How long a client may keep sending after its response, in milliseconds. Many clients read it only then. */
const lingerMs = 5000;

/**
 * Ends a request that was answered before its body was complete, such as a refused upload. Otherwise it would stay open
 * as long as an upload may take.
 */
export const drainUnreadBody: Middleware = async ({ req, res }, next) => {
  res.once('finish', () => {
    if (req.complete || req.destroyed) {
      return;
    }

    const timer = setTimeout(() => req.destroy(), lingerMs);
    req.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
    req.resume();
  });
  await next();
};
