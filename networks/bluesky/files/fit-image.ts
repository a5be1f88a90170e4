import { Readable } from 'node:stream';
import { shrinkImage } from '../../../runtime/media/shrink-image.ts';
import { fileBytes } from '../../file-bytes.ts';
import { type Connection, NetworkError, type PartMedia } from '../../network.ts';
import { numberOf, sizesOf } from '../../validation/amounts.ts';
import { nameOf } from '../../validation/files.ts';
import type { Blob } from '../prepared-post.ts';
import { blobOfBytes } from './blob-of.ts';
import { heldBytes, holdBytes } from './held-bytes.ts';
import { keptImage } from './kept-images.ts';

/** An image that was encoded anew, as the record has it. */
export type FittedImage = {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
  /** What became of it, as a sentence. */
  readonly warning: string;
};

/**
 * Encodes an image so that the network takes it, and holds it for the upload.
 *
 * @throws NetworkError `media_refused` for one that cannot be decoded or made so small; what reading the file throws. All
 *   with `taken: 'no'`.
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
 * The bytes of an image that was encoded for a record.
 *
 * @throws NetworkError as `fitImage`; `internal` when they come out otherwise than they did, as by another version.
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
    const message = `The file ${nameOf(file)} was made smaller in another way than before.`;
    throw new NetworkError('internal', message, { taken: 'no' });
  }

  return bytes;
}

async function encode({ signal, workspaceId }: Connection, file: PartMedia, maxBytes: number) {
  // A deleted file must not go out, although its smaller image may still be in memory.
  (await file.open()).destroy();
  const made = await keptImage(`${file.id} ${maxBytes}`, signal, (shared) =>
    shrinkImage(Readable.from(fileBytes(file)), { maxBytes, workspaceId }, shared),
  ).catch((error: unknown) => {
    if (error instanceof NetworkError) {
      throw error;
    }

    const message = `The file ${nameOf(file)} could not be made smaller just now.`;
    throw new NetworkError('internal', message, { taken: 'no', cause: error });
  });
  if (!made) {
    const message = `The file ${nameOf(file)} is larger than Bluesky takes, and could not be made smaller.`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }

  return made;
}
