import type { SmallerImage } from '../../../runtime/media/shrink-image.ts';

type Made = SmallerImage & { readonly bytes: Buffer };

/** How many bytes of images this process keeps. */
const most = 64 * 1024 * 1024;

/** Ordered by last use, oldest first. */
const cache = new Map<string, Made>();

type UnderWay = {
  readonly made: Promise<Made | null>;
  readonly end: AbortController;
  waiting: number;
};
const underWay = new Map<string, UnderWay>();

/**
 * Encodes an image once for all posts of this process that need it, because a large one takes a processor for up to a
 * minute. Recently used images are kept.
 *
 * @param key Identifies the file and the size that it is encoded for.
 * @param make Encodes it. Its signal aborts when no caller waits for the image any more.
 * @throws what `make` throws; the signal's reason.
 */
export async function cachedImage(
  key: string,
  signal: AbortSignal,
  make: (signal: AbortSignal) => Promise<Made | null>,
): Promise<Made | null> {
  const known = cache.get(key);
  if (known) {
    keep(key, known);
    return known;
  }

  const one = underWay.get(key) ?? begin(key, make);
  one.waiting += 1;
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    signal.throwIfAborted();
    return await Promise.race([one.made, gone]);
  } finally {
    signal.removeEventListener('abort', leave);
    one.waiting -= 1;
    if (one.waiting === 0) {
      end(key, one);
    }
  }
}

function begin(key: string, make: (signal: AbortSignal) => Promise<Made | null>): UnderWay {
  const controller = new AbortController();
  const made = make(controller.signal).then((image) => {
    if (image) {
      keep(key, image);
    }

    return image;
  });
  made.catch(() => undefined); // The waiting callers get the error.
  const one = { made, end: controller, waiting: 0 };
  underWay.set(key, one);
  return one;
}

function end(key: string, one: UnderWay): void {
  one.end.abort(); // Has no effect once the image is made.
  if (underWay.get(key) === one) {
    underWay.delete(key);
  }
}

function keep(key: string, image: Made): void {
  cache.delete(key);
  cache.set(key, image);
  let bytes = [...cache.values()].reduce((sum, one) => sum + one.bytes.length, 0);
  for (const [oldest, { bytes: its }] of cache) {
    if (bytes <= most) {
      return;
    }

    cache.delete(oldest);
    bytes -= its.length;
  }
}
