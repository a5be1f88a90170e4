import { Readable } from 'node:stream';
import { shrinkImage } from '../../runtime/media/shrink-image.ts';
import { type Connection, NetworkError, type PartMedia } from '../network.ts';
import { fileBytes } from '../uploads/file-bytes.ts';
import { numberOf, sizesOf, nameOf } from '../validation/files.ts';
import { blobOfBytes, heldPicture, holdPicture, type Blob } from './blobs.ts';

type FittedImage = {
  readonly blob: Blob;
  readonly width: number;
  readonly height: number;
  readonly warning: string;
};

/** Re-encodes an image so that the network accepts it, and holds it for the upload. */
export async function fitImage(
  connection: Connection,
  file: PartMedia,
  maxBytes: number,
): Promise<FittedImage> {
  const { bytes, type, width, height } = await encode(connection, file, maxBytes);
  const blob = blobOfBytes(bytes, type);
  holdPicture(connection, blob.ref.$link, bytes);
  const [limit, had] = sizesOf(maxBytes, file.sizeBytes);
  const size = `${numberOf(width)} × ${numberOf(height)} pixels`;
  const kind = type === 'image/webp' ? 'WebP' : 'JPEG';
  const warning = `Bluesky takes images of up to ${limit}, and ${nameOf(file)} has ${had}: it went out as a ${kind} of ${size} with ${sizesOf(maxBytes, bytes.length)[1]}.`;
  return { blob, width, height, warning };
}

/** The bytes of an image that was re-encoded for a record. */
export async function fittedBytes(
  connection: Connection,
  file: PartMedia,
  blob: Blob,
  maxBytes: number,
): Promise<Buffer> {
  const cid = blob.ref.$link;
  const bytes = heldPicture(connection, cid) ?? (await encode(connection, file, maxBytes)).bytes;
  if (blobOfBytes(bytes, blob.mimeType).ref.$link !== cid) {
    const message = `The file ${nameOf(file)} was made smaller with another result than before.`;
    throw new NetworkError('internal', message, { accepted: 'no' });
  }

  return bytes;
}

/** In milliseconds, with the wait for a processor. Shorter than an attempt. */
const encodeTimeoutMs = 3 * 60_000;

async function encode({ workspaceId }: Connection, file: PartMedia, maxBytes: number) {
  const pixels = (file.width ?? Infinity) * (file.height ?? Infinity);
  const made = await shrinkImage(
    Readable.from(fileBytes(file)),
    { maxBytes, pixels, workspaceId },
    AbortSignal.timeout(encodeTimeoutMs),
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
