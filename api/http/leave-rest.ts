import type { Context, Middleware } from 'koa';

/** For how long a client may go on sending after its answer; many read that only then. In milliseconds. */
const lingerMs = 5000;

/**
 * Lets go of a request that was answered before all of it had come, such as one that was refused: what still comes goes
 * by for a moment, and then the connection is cut. Without this it would stay for as long as an upload may take.
 */
export const leaveRest: Middleware = async (ctx, next) => {
  ctx.res.once('finish', () => leave(ctx.req));
  await next();
};

function leave(request: Context['req']): void {
  if (request.complete || request.destroyed) {
    return;
  }

  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  request.resume();
}
