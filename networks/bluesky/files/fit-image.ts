import { Readable } from 'node:stream';
import { shrinkImage } from '../../../runtime/media/shrink-image.ts';
import { fileBytes } from '../../file-bytes.ts';
import { type Connection, NetworkError, type PartMedia } from '../../network.ts';
import { numberOf, sizesOf } from '../../validation/amounts.ts';
import { nameOf } from '../../validation/files.ts';
import type { Blob } from '../prepared-post.ts';
import { blobOfBytes } from './blob.ts';
import { heldBytes, holdBytes } from './held-bytes.ts';
import { cachedImage } from './image-cache.ts';

/** A re-encoded image, as the record describes it. */
export type FittedImage = {
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
  // A deleted file must not go out, although its smaller version may still be in memory.
  (await file.open()).destroy();
  const made = await cachedImage(`${file.id} ${maxBytes}`, signal, (shared) =>
    shrinkImage(Readable.from(fileBytes(file)), { maxBytes, workspaceId }, shared),
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
