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
 * Brings the files of posts to the server, under the names that their records have for them. The same bytes twice are
 * one file there, and files that no post names are forgotten after some hours.
 *
 * @returns the CIDs of the parts' files; pictures of link cards go along.
 * @throws NetworkError `media_refused` when the server does not take a file, with `taken: 'no'` like all its errors.
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
      const bytes = heldBytes(connection, thumb.ref.$link) ?? notAtHand();
      await upload(connection, {
        name: 'the picture of the link card',
        blob: thumb,
        body: () => bodyOf(bytes),
      });
    }
  }

  return cids;
}

/** A try uploads what it prepared itself; the next one prepares anew. */
function notAtHand(): never {
  const message = 'The picture of the link card is not at hand any more.';
  throw new NetworkError('internal', message, { taken: 'no' });
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

/** Of `com.atproto.repo.uploadBlob`. */
const readUploaded = answerReader<{ readonly blob: Blob }>({
  type: 'object',
  required: ['blob'],
  properties: { blob: blobSchema },
});

const bodyOf = (bytes: Buffer): StreamedBody => ({
  stream: Readable.from([bytes]),
  sizeBytes: bytes.length,
});

type Coming = {
  /** For messages. */
  readonly name: string;
  readonly blob: Blob;
  /** Called once for each time that it is sent. */
  readonly body: () => StreamedBody;
};

async function upload(connection: Connection, { name, blob, body }: Coming): Promise<void> {
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
    const message = `The Bluesky server took the file "${name}" for something else than it is (${kept.mimeType}, not ${blob.mimeType}).`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }
}
