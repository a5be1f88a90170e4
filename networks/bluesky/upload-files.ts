import { Readable } from 'node:stream';
import { jsonOf } from '../answer.ts';
import { fileBytes } from '../file-bytes.ts';
import { NetworkError, type Connection, type PreparedPart, type PartMedia } from '../network.ts';
import { readUploaded, type Blob } from './answers.ts';
import { refusal, unreadable } from './errors.ts';
import { preparedPostOf } from './prepared-post.ts';
import { withSession } from './session.ts';
import { uploadBlob } from './xrpc.ts';

/**
 * Brings the files of posts to the server, under the names that their records have for them. The same bytes twice are
 * one file there, and files that no post names are forgotten after some hours.
 *
 * @returns the CIDs.
 * @throws NetworkError `media_refused` when the server does not take a file, with `taken: 'no'` like all its errors.
 */
export async function uploadFiles(
  connection: Connection,
  parts: readonly PreparedPart[],
): Promise<string[]> {
  const cids: string[] = [];
  for (const part of parts) {
    const { blobs = [] } = preparedPostOf(part);
    for (const [index, file] of part.media.entries()) {
      const blob = blobs[index];
      if (!blob || blobs.length !== part.media.length) {
        throw new Error(`Part ${part.key} was prepared with other files.`);
      }

      await uploadFile(connection, file, blob);
      cids.push(blob.ref.$link);
    }
  }

  return cids;
}

async function uploadFile(connection: Connection, file: PartMedia, blob: Blob): Promise<void> {
  let secret = '';
  const response = await withSession(connection, (accessJwt) => {
    secret = accessJwt;
    const body = { stream: Readable.from(fileBytes(file)), sizeBytes: file.sizeBytes };
    return uploadBlob(connection, { type: blob.mimeType, body }, accessJwt);
  });
  if (response.status !== 200) {
    throw refusal(response, 'upload', [secret], file.name);
  }

  const kept = readUploaded(jsonOf(response))?.blob;
  if (!kept) {
    throw unreadable('upload');
  }
  if (kept.ref.$link !== blob.ref.$link || kept.mimeType !== blob.mimeType) {
    const message = `The Bluesky server took the file "${file.name}" for something else than it is (${kept.mimeType}, not ${blob.mimeType}).`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }
}
