import { Readable } from 'node:stream';
import { shrinkImage, type SmallerImage } from '../../runtime/media/shrink-image.ts';
import { type Connection, NetworkError, type PartMedia } from '../network.ts';
import { fileBytes } from '../uploads/file-bytes.ts';
import { numberOf, sizesOf, nameOf } from '../validation/files.ts';
import { blobOfBytes, heldBytes, holdBytes, type Blob } from './blobs.ts';

/** A re-encoded image, as the record describes it. */
type FittedImage = {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
  /** Describes the change, as a sentence. */
  readonly warning: string;
};

/**
 * Re-encodes an image so that the network accepts it, and keeps the bytes for the upload.
 *
 * @throws NetworkError with `accepted: 'no'`: `media_refused` when the image cannot be decoded or made small enough,
 *   and the errors of reading the file.
 */
export async function fitImage(
  connection: Connection,
  file: PartMedia,
  maxBytes: number,
): Promise<FittedImage> {
  const { bytes, type, width, height } = await encode(connection, file, maxBytes);
  const blob = blobOfBytes(bytes, type);
  holdBytes(connection, blob.ref.$link, { bytes, canBeMadeAgain: true });
  const [limit, had] = sizesOf(maxBytes, file.sizeBytes);
  const size = `${numberOf(width)} × ${numberOf(height)} pixels`;
  const kind = type === 'image/webp' ? 'WebP' : 'JPEG';
  const warning = `Bluesky takes images of up to ${limit}, and ${nameOf(file)} has ${had}: it went out as a ${kind} of ${size} with ${sizesOf(maxBytes, bytes.length)[1]}.`;
  return { blob, width, height, warning };
}

/**
 * The bytes of an image that was re-encoded for a record.
 *
 * @throws NetworkError as `fitImage`; `internal` when the result differs from the first one, for example after an
 * upgrade.
 */
export async function fittedBytes(
  connection: Connection,
  file: PartMedia,
  blob: Blob,
  maxBytes: number,
): Promise<Buffer> {
  const cid = blob.ref.$link;
  const bytes = heldBytes(connection, cid) ?? (await encode(connection, file, maxBytes)).bytes;
  if (blobOfBytes(bytes, blob.mimeType).ref.$link !== cid) {
    const message = `The file ${nameOf(file)} was made smaller with another result than before.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
  }

  return bytes;
}

async function encode({ signal, workspaceId }: Connection, file: PartMedia, maxBytes: number) {
  const pixels = (file.width ?? Infinity) * (file.height ?? Infinity);
  // A deleted file must not go out, although its smaller version may still be in memory.
  (await file.open()).destroy();
  const made = await cachedImage(`${file.id} ${maxBytes}`, signal, (shared) =>
    shrinkImage(Readable.from(fileBytes(file)), { maxBytes, pixels, workspaceId }, shared),
  ).catch((error: unknown) => {
    if (error instanceof NetworkError) {
      throw error;
    }

    const message = `The file ${nameOf(file)} could not be made smaller at the moment.`;
    throw new NetworkError('internal', message, { accepted: 'no', cause: error });
  });
  if (!made) {
    const message = `The file ${nameOf(file)} is larger than Bluesky takes, and could not be made smaller.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }

  return made;
}

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
async function cachedImage(
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
