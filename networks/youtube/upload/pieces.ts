import { fileBytes } from '../../file-bytes.ts';
import type { PartMedia } from '../../network.ts';

/** All chunks of a session except the last are multiples of this. */
const unitBytes = 256 * 1024;
const mostChunkBytes = 32 * unitBytes;

/**
 * Where the last chunk of a file begins. It is small, so that the request that creates the video is short.
 *
 * @param from How many bytes are already uploaded.
 * @returns `from` plus a multiple of 256 KiB, below the file's size.
 */
export const lastChunkStart = (sizeBytes: number, from: number): number =>
  from + Math.floor(Math.max(0, sizeBytes - 1 - from) / unitBytes) * unitBytes;

/**
 * The size of the other chunks: about a thirtieth of the file, so that a broken one costs little, and at most 8 MiB.
 */
export const chunkBytesOf = (sizeBytes: number): number =>
  Math.min(Math.max(Math.floor(sizeBytes / 32 / unitBytes), 1) * unitBytes, mostChunkBytes);

/** Reads a file once, piece by piece. */
export type Pieces = {
  /** The next bytes, up to `length` or the end. */
  take(length: number): AsyncGenerator<Buffer>;
  /** The remaining bytes. The last piece is returned only after the end of the file is verified. */
  rest(): AsyncGenerator<Buffer>;
  close(): Promise<void>;
};

/** Reads a file from a position on. Throws while reading as `fileBytes` does. */
export function piecesOf(file: PartMedia, fromByte: number): Pieces {
  const source = fileBytes(file, fromByte);
  let unread: Buffer = Buffer.alloc(0);
  return {
    async *take(length) {
      let missing = length;
      while (missing > 0) {
        if (unread.length === 0) {
          const next = await source.next();
          if (next.done) {
            return;
          }
          unread = next.value;
        }

        const piece = unread.subarray(0, missing);
        unread = unread.subarray(piece.length);
        missing -= piece.length;
        yield piece;
      }
    },
    async *rest() {
      let held = unread;
      for await (const next of source) {
        if (held.length > 0) {
          yield held;
        }
        held = next;
      }
      if (held.length > 0) {
        yield held;
      }
    },
    close: async () => {
      await source.return(undefined);
    },
  };
}
