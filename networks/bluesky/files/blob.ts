import { createHash } from 'node:crypto';
import { cidForRawHash } from '@atproto/lex-data';
import { fileTypeFromBuffer } from 'file-type';
import type { PartMedia } from '../../network.ts';
import type { Blob } from '../prepared-post.ts';
import { bytesToSend } from './video-bytes.ts';

/** Enough of a file to detect its type; a PNG says late whether it is animated. */
const headBytes = 64 * 1024;

/**
 * Computes the blob of a file before its upload: a blob's name is the hash of its bytes.
 *
 * The server detects the type from the bytes, with the same package, and refuses a record with another type. So the
 * detected type is used instead of the library's, which calls an animated PNG a PNG.
 *
 * @throws NetworkError when the file is gone or cannot be read.
 */
export async function blobOf(file: PartMedia): Promise<Blob> {
  const hash = createHash('sha256');
  let head = Buffer.alloc(0);
  for await (const chunk of bytesToSend(file)) {
    hash.update(chunk);
    if (head.length < headBytes) {
      head = Buffer.concat([head, chunk]);
    }
  }

  const type = (await fileTypeFromBuffer(head))?.mime ?? file.type;
  return blob(hash.digest(), type, file.sizeBytes);
}

/** The blob of bytes that we encoded. */
export const blobOfBytes = (bytes: Buffer, type: string): Blob =>
  blob(createHash('sha256').update(bytes).digest(), type, bytes.length);

const blob = (hash: Buffer, mimeType: string, size: number): Blob => ({
  $type: 'blob',
  ref: { $link: cidForRawHash(hash).toString() },
  mimeType,
  size,
});
