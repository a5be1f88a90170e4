import type { Context, Middleware } from 'koa';

export type ReaderBounds = {
  /** How much a reader must take on average over each window; 0 is no bound. */
  readonly bytesPerSecond: number;
  /**
   * In milliseconds. Systems buffer megabytes and hand them over 1 to 2 MB at a time (measured on Linux), so that a
   * reader of 20 kB/s seems to take nothing for more than a minute: a window must be longer than that.
   */
  readonly windowMs: number;
};

/**
 * Cuts off clients that do not take their answer, or hardly: each holds a connection, and a file or a socket of the
 * storage. Time in which nothing waits to be taken does not count, as then the API is slow.
 */
export const cutSlowReaders =
  (bounds: ReaderBounds): Middleware =>
  async (ctx, next) => {
    await next();
    watch(ctx, bounds);
  };

function watch({ req, res }: Context, { bytesPerSecond, windowMs }: ReaderBounds): void {
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

/** For how long a client may go on sending after its answer; many read that only then. In milliseconds. */
const lingerMs = 5000;

/**
 * Ends a request that was answered before all of it had come, such as one that was refused: what still comes is read
 * and dropped for a moment, and then the connection is cut. Without this it would stay for as long as an upload may take.
 */
export const leaveRest: Middleware = async (ctx, next) => {
  ctx.res.once('finish', () => {
    if (!ctx.req.complete && !ctx.req.destroyed) {
      dropRest(ctx.req);
    }
  });
  await next();
};

/** Reads and drops what still comes of a request, and cuts its connection where that goes on for too long. */
export function dropRest(request: Context['req']): void {
  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer));
  request.resume();
}
