import { count, having, textUpTo, type Value } from '../../domain/json-schema.ts';
import { createHash } from 'node:crypto';
import { cidForRawHash } from '@atproto/lex-data';
import { fileTypeFromBuffer } from 'file-type';
import type { PartMedia, Connection } from '../network.ts';
import { fileBytes } from '../uploads/file-bytes.ts';
import { cidSchema } from './client.ts';

export const blobSchema = having({
  $type: { const: 'blob' },
  ref: having({ $link: cidSchema }),
  mimeType: textUpTo(255),
  size: count,
});

export type Blob = Value<typeof blobSchema>;

/** Enough of a file to detect its type; a PNG says late whether it is animated. */
const headBytes = 64 * 1024;

/**
 * Computes the blob of a file before its upload: a blob's name is the hash of its bytes.
 *
 * The server detects the type from the bytes, with the same package, and refuses a record with another type. So the
 * detected type is used instead of the library's, which calls an animated PNG a PNG.
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
  return blob(hash.digest(), type, file.sizeBytes);
}

export const blobOfBytes = (bytes: Buffer, type: string): Blob =>
  blob(createHash('sha256').update(bytes).digest(), type, bytes.length);

const blob = (hash: Buffer, mimeType: string, size: number): Blob => ({
  $type: 'blob',
  ref: { $link: cidForRawHash(hash).toString() },
  mimeType,
  size,
});

/** Limit per attempt, in bytes. A worker makes up to 180 attempts at a time; what is not held is encoded again. */
const mostHeld = 4 * 1024 * 1024;

/** The pictures that each attempt has made, by CID: of link cards, and smaller versions of images. */
const held = new WeakMap<Connection, Map<string, Buffer>>();

/** Keeps a picture until its upload. @returns false when there is no room for it. */
export function holdPicture(connection: Connection, cid: string, bytes: Buffer): boolean {
  const pictures = held.get(connection) ?? new Map<string, Buffer>();
  const heldBytes = [...pictures.values()].reduce((sum, { length }) => sum + length, 0);
  if (!pictures.has(cid) && heldBytes + bytes.length > mostHeld) {
    return false;
  }

  held.set(connection, pictures.set(cid, bytes));
  return true;
}

export const heldPicture = (connection: Connection, cid: string): Buffer | undefined =>
  held.get(connection)?.get(cid);
