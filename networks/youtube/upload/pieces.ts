import { fileBytes } from '../../file-bytes.ts';
import type { PartMedia } from '../../network.ts';

/** Chunks of a session are multiples of this, but for the last. */
const unitBytes = 256 * 1024;
const mostChunkBytes = 32 * unitBytes;

/**
 * Where the last chunk of a file begins. It is small, so that what makes the video is over soon.
 *
 * @param from How much of the file is there already.
 * @returns some multiples of 256 KiB after that, and below the file's size.
 */
export const lastChunkStart = (sizeBytes: number, from: number): number =>
  from + Math.floor(Math.max(0, sizeBytes - 1 - from) / unitBytes) * unitBytes;

/**
 * How large the chunks before it are: about a thirtieth of the file, so that a broken one costs little, and 8 MiB at most.
 */
export const chunkBytesOf = (sizeBytes: number): number =>
  Math.min(Math.max(Math.floor(sizeBytes / 32 / unitBytes), 1) * unitBytes, mostChunkBytes);

/** A file that is read once, piece by piece. */
export type Pieces = {
  /** The next bytes, as many as are asked for, or up to the end. */
  take(length: number): AsyncGenerator<Buffer>;
  /** What is left, whose last piece comes once the file is known to end there. */
  rest(): AsyncGenerator<Buffer>;
  close(): Promise<void>;
};

/** The file from one of its bytes on. Fails while it is read as `fileBytes` does. */
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
