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
 * storage. Time in which nothing waits to be taken does not count, as then it is we who are slow.
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
  const look = (): void => {
    const seen = now();
    const inWindowMs = seen.atMs - window.atMs;
    if (socket.writableLength === 0) {
      window = seen;
    } else if (inWindowMs >= windowMs) {
      const mustTake = (bytesPerSecond * inWindowMs) / 1000;
      if (seen.bytes - window.bytes < mustTake) {
        socket.destroy();
      }

      window = seen;
    }
  };
  const timer = setInterval(look, windowMs / 5);
  res.once('close', () => clearInterval(timer));
}
