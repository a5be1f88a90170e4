import type { Context, Middleware } from 'koa';

export type ReaderBounds = {
  /** How long a reader may take nothing, in milliseconds. */
  readonly stallMs: number;
  /** How much it must take on average over a window; 0 is no bound. */
  readonly bytesPerSecond: number;
  /** In milliseconds. Systems hand over megabytes at a time, so that a slow reader is seen to take some only now and then. */
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

function watch({ req, res }: Context, { stallMs, bytesPerSecond, windowMs }: ReaderBounds): void {
  const { socket } = req;
  if (res.closed) {
    return;
  }

  const now = () => ({
    atMs: performance.now(),
    bytes: socket.bytesWritten - socket.writableLength,
  });
  let [last, window] = [now(), now()];
  const look = (): void => {
    const seen = now();
    if (socket.writableLength === 0) {
      [last, window] = [seen, seen];
      return;
    }

    last = seen.bytes > last.bytes ? seen : last;
    const inWindowMs = seen.atMs - window.atMs;
    const isTooSlow =
      inWindowMs >= windowMs && seen.bytes - window.bytes < (bytesPerSecond * inWindowMs) / 1000;
    if (isTooSlow || seen.atMs - last.atMs >= stallMs) {
      socket.destroy();
    } else if (inWindowMs >= windowMs) {
      window = seen;
    }
  };
  const timer = setInterval(look, Math.min(stallMs, windowMs) / 5);
  res.once('close', () => clearInterval(timer));
}
