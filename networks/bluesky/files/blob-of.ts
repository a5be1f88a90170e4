import { createHash } from 'node:crypto';
import { cidForRawHash } from '@atproto/lex-data';
import { fileTypeFromBuffer } from 'file-type';
import type { PartMedia } from '../../network.ts';
import type { Blob } from '../prepared-post.ts';
import { bytesToSend } from './video-bytes.ts';

/** How much of a file's beginning tells its type; PNG says late whether it is animated. */
const headBytes = 64 * 1024;

/**
 * Names a file as the server will, before the server has it: a blob is named by the hash of its bytes.
 *
 * The server reads the type from the bytes, by the same package, and refuses a record that says another. So this is
 * its word and not the library's, which calls an animated PNG a PNG. A server that does not look takes ours.
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

/** Names what we encoded ourselves. */
export const blobOfBytes = (bytes: Buffer, type: string): Blob =>
  blob(createHash('sha256').update(bytes).digest(), type, bytes.length);

const blob = (hash: Buffer, mimeType: string, size: number): Blob => ({
  $type: 'blob',
  ref: { $link: cidForRawHash(hash).toString() },
  mimeType,
  size,
});
