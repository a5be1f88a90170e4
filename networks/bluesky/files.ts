import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { cidForRawHash } from '@atproto/lex-data';
import { fileTypeFromBuffer } from 'file-type';
import { answerReader, jsonOf } from '../answer.ts';
import { fileBytes } from '../file-bytes.ts';
import type { Json } from '../../domain/json-schema.ts';
import { type Connection, NetworkError, type PartMedia, type PreparedPart } from '../network.ts';
import { refusal, unreadable, uploadBlob } from './client.ts';
import { blobSchema, preparedPostOf, type Blob } from './prepared-post.ts';
import { withSession } from './session.ts';

/** How much of a file's beginning tells its type; PNG says late whether it is animated. */
const headBytes = 64 * 1024;

/**
 * Names a file as the server will, before the server has it: a blob is named by the hash of its bytes.
 *
 * The server reads the type from the bytes, by the same package, and refuses a record that says another. So this is
 * its word and not the library's, which calls an M4V an MP4. A server that does not look takes ours.
 *
 * @throws NetworkError when the file is gone or cannot be read.
 */
export async function blobOf(file: PartMedia): Promise<Blob> {
  const hash = createHash('sha256');
  let head = Buffer.alloc(0);
  for await (const chunk of fileBytes(file)) {
    hash.update(chunk);
    if (head.length < headBytes) {
      head = Buffer.concat([head, chunk]);
    }
  }

  const type = (await fileTypeFromBuffer(head))?.mime ?? file.type;
  return {
    $type: 'blob',
    ref: { $link: cidForRawHash(hash.digest()).toString() },
    mimeType: type,
    size: file.sizeBytes,
  };
}

/**
 * The part of a record that shows its files: images, or one video.
 *
 * A video is named as its bytes are, and Bluesky's video service prepares it when it sees the post.
 *
 * Source: lexicons `app.bsky.embed.images` and `app.bsky.embed.video`.
 *
 * @param blobs One for each file.
 * @returns null when there are no files.
 * @throws NetworkError `media_refused` for a mixture that no record can show.
 */
export function embedOf(media: readonly PartMedia[], blobs: readonly Blob[]): Json {
  const images: Json[] = [];
  const videos: Json[] = [];
  for (const [index, file] of media.entries()) {
    const blob = { ...blobs[index] };
    const alt = file.altText?.trim() ?? '';
    if (file.type.startsWith('video/')) {
      videos.push({
        $type: 'app.bsky.embed.video',
        video: blob,
        ...(alt !== '' && { alt }),
        ...shapeOf(file),
      });
    } else {
      images.push({ image: blob, alt, ...shapeOf(file) });
    }
  }

  const [video = null] = videos;
  if (videos.length > 1 || (videos.length > 0 && images.length > 0)) {
    const message = `A Bluesky post shows images or one video, and this one has ${images.length} images and ${videos.length} videos.`;
    throw new NetworkError('media_refused', message, { taken: 'no' });
  }
  return images.length > 0 ? { $type: 'app.bsky.embed.images', images } : video;
}

/** Without it, clients do not know how much room to leave until they have the file. */
const shapeOf = ({ width, height }: PartMedia): { aspectRatio?: Json } =>
  width !== null && height !== null ? { aspectRatio: { width, height } } : {};

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

/** Of `com.atproto.repo.uploadBlob`. */
const readUploaded = answerReader<{ readonly blob: Blob }>({
  type: 'object',
  required: ['blob'],
  properties: { blob: blobSchema },
});

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
