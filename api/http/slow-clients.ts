import type { Context, Middleware } from 'koa';

export type ReaderLimits = {
  /** Minimum average per window; 0 is unlimited. */
  readonly bytesPerSecond: number;
  /**
   * In milliseconds. Systems buffer megabytes and pass them on 1 to 2 MB at a time (measured on Linux), so a client
   * that reads 20 kB/s seems to stall for more than a minute. The window must be longer than that.
   */
  readonly windowMs: number;
};

/**
 * Disconnects clients that read their response too slowly: each holds a connection and a file or storage socket. Time
 * without pending bytes does not count, because then the API is slow.
 */
export const disconnectSlowReaders =
  (bounds: ReaderLimits): Middleware =>
  async (ctx, next) => {
    await next();
    watch(ctx, bounds);
  };

function watch({ req, res }: Context, { bytesPerSecond, windowMs }: ReaderLimits): void {
  const { socket } = req;
  if (res.closed) {
    return;
  }

  const now = () => ({
    atMs: performance.now(),
    bytes: socket.bytesWritten - socket.writableLength,
  });
  let window = now();
  const check = (): void => {
    const seen = now();
    const inWindowMs = seen.atMs - window.atMs;
    if (socket.writableLength === 0) {
      window = seen;
    } else if (inWindowMs >= windowMs) {
      const leastBytes = (bytesPerSecond * inWindowMs) / 1000;
      if (seen.bytes - window.bytes < leastBytes) {
        socket.destroy();
      }

      window = seen;
    }
  };
  const timer = setInterval(check, windowMs / 5);
  res.once('close', () => clearInterval(timer));
}

/** How long a client may keep sending after its response, in milliseconds. Many clients read it only then. */
const lingerMs = 5000;

/**
 * Ends a request that was answered before its body was complete, such as a refused upload. The rest is drained for
 * `lingerMs`, then the connection is closed. Otherwise it would stay open as long as an upload may take.
 */
export const drainUnreadBody: Middleware = async (ctx, next) => {
  ctx.res.once('finish', () => {
    if (!ctx.req.complete && !ctx.req.destroyed) {
      drainBody(ctx.req);
    }
  });
  await next();
};

/** Drains the rest of a request, and closes its connection after `lingerMs`. */
export function drainBody(request: Context['req']): void {
  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  request.resume();
}
