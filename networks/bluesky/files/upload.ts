import { Readable } from 'node:stream';
import type { StreamedBody } from '../../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../../answer.ts';
import { type Connection, NetworkError, type PreparedPart } from '../../network.ts';
import { refusal, unreadable, uploadBlob } from '../client.ts';
import { blobSchema, preparedPostOf, type Blob } from '../prepared-post.ts';
import { blueskySettings } from '../rules.ts';
import { withSession } from '../session.ts';
import { fittedBytes } from './fit-image.ts';
import { heldBytes } from './held-bytes.ts';
import { bytesToSend } from './video-bytes.ts';

/**
 * Uploads the files of posts under the CIDs that their records contain. The server stores equal bytes once, and deletes
 * files that no record names after some hours.
 *
 * @returns the CIDs of the parts' files. The pictures of link cards are uploaded too.
 * @throws NetworkError with `accepted: 'no'`: `media_refused` when the server refuses a file.
 */
export async function uploadFiles(
  connection: Connection,
  parts: readonly PreparedPart[],
): Promise<string[]> {
  const cids: string[] = [];
  for (const part of parts) {
    const { blobs = [], thumb } = preparedPostOf(part);
    if (blobs.length !== part.media.length) {
      throw new Error(`Part ${part.key} was prepared with other files.`);
    }

    for (const [index, blob] of blobs.entries()) {
      await uploadMedia(connection, part, index, blob);
      cids.push(blob.ref.$link);
    }

    if (thumb) {
      const bytes = heldBytes(connection, thumb.ref.$link) ?? throwPictureLost();
      await upload(connection, {
        name: 'the picture of the link card',
        blob: thumb,
        body: () => bodyOf(bytes),
      });
    }
  }

  return cids;
}

/** Each attempt prepares its posts and then uploads them, so the bytes are normally still held. */
function throwPictureLost(): never {
  const message = 'The picture of the link card is no longer in memory.';
  throw new NetworkError('internal', message, { accepted: 'no' });
}

async function uploadMedia(
  connection: Connection,
  part: PreparedPart,
  index: number,
  blob: Blob,
): Promise<void> {
  const file = part.media[index];
  if (!file) {
    return;
  }

  const { name } = file;
  const { encoded, processed } = preparedPostOf(part);
  if (processed?.includes(index)) {
    return;
  }
  if (encoded?.includes(index)) {
    const { maxImageBytes } = blueskySettings(connection.settings);
    const bytes = await fittedBytes(connection, file, blob, maxImageBytes);
    await upload(connection, { name, blob, body: () => bodyOf(bytes) });
  } else {
    const body = () => ({ stream: Readable.from(bytesToSend(file)), sizeBytes: file.sizeBytes });
    await upload(connection, { name, blob, body });
  }
}

/** Reads the response of `com.atproto.repo.uploadBlob`. */
const readUploaded = answerReader<{ readonly blob: Blob }>({
  type: 'object',
  required: ['blob'],
  properties: { blob: blobSchema },
});

const bodyOf = (bytes: Buffer): StreamedBody => ({
  stream: Readable.from([bytes]),
  sizeBytes: bytes.length,
});

type PendingUpload = {
  /** For messages. */
  readonly name: string;
  readonly blob: Blob;
  /** Called once per request. */
  readonly body: () => StreamedBody;
};

async function upload(connection: Connection, { name, blob, body }: PendingUpload): Promise<void> {
  let secret = '';
  const response = await withSession(connection, (authorization) => {
    ({ secret } = authorization);
    return uploadBlob(connection, { type: blob.mimeType, body: body() }, authorization);
  });
  if (response.status !== 200) {
    throw refusal(response, 'upload', [secret], name);
  }

  const kept = readUploaded(jsonOf(response))?.blob;
  if (!kept) {
    throw unreadable('upload');
  }
  if (kept.ref.$link !== blob.ref.$link || kept.mimeType !== blob.mimeType) {
    const message = `The Bluesky server detected another media type for the file "${name}" (${kept.mimeType}, not ${blob.mimeType}).`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }
}
