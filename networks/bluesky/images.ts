import { Readable } from 'node:stream';
import { shrinkImage, type SmallerImage } from '../../runtime/media/shrink-image.ts';
import { type Connection, NetworkError, type PartMedia } from '../network.ts';
import { fileBytes } from '../uploads/file-bytes.ts';
import { numberOf, sizesOf, nameOf } from '../validation/files.ts';
import { blobOfBytes, type Blob } from './blobs.ts';

/** A re-encoded image, as the record describes it. */
type FittedImage = {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
  readonly warning: string;
};

/**
 * Re-encodes an image so that the network accepts it.
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
  const { bytes } = await encode(connection, file, maxBytes);
  if (blobOfBytes(bytes, blob.mimeType).ref.$link !== blob.ref.$link) {
    const message = `The file ${nameOf(file)} was made smaller with another result than before.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
  }

  return bytes;
}

async function encode({ workspaceId }: Connection, file: PartMedia, maxBytes: number) {
  const pixels = (file.width ?? Infinity) * (file.height ?? Infinity);
  // A deleted file must not go out, although its smaller version may still be in memory.
  (await file.open()).destroy();
  const made = await encodedOnce(`${file.id} ${maxBytes}`, () =>
    shrinkImage(
      Readable.from(fileBytes(file)),
      { maxBytes, pixels, workspaceId },
      AbortSignal.timeout(encodeTimeoutMs),
    ),
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

/** In milliseconds, with the wait for a processor. Shorter than an attempt. */
const encodeTimeoutMs = 3 * 60_000;

/** The number of images that this process keeps, usually of up to 2 MB each. */
const mostKept = 32;

/** Ordered by last use, oldest first. */
const kept = new Map<string, Promise<Made | null>>();

/**
 * Encodes an image once for all posts and attempts of this process that need it, because a large one takes a processor
 * for up to a minute.
 */
function encodedOnce(key: string, make: () => Promise<Made | null>): Promise<Made | null> {
  const image = kept.get(key) ?? make();
  kept.delete(key);
  kept.set(key, image);
  const forget = () => kept.delete(key);
  image.then((made) => made ?? forget(), forget);
  const [oldest = ''] = kept.keys();
  if (kept.size > mostKept) {
    kept.delete(oldest);
  }
  return image;
}
