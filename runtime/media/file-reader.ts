import { readSync } from 'node:fs';

export type Reader = {
  /** As many bytes from there as were asked for, a few at most; fewer at the end of the file. */
  at(position: number, length: number): Buffer;
};

/** Reads large pieces, as the blocks are small. */
export function createReader(file: number): Reader {
  const piece = Buffer.alloc(256 * 1024);
  let [start, filled] = [0, 0];
  return {
    at(position, length) {
      if (position < start || position + length > start + filled) {
        start = position;
        filled = readSync(file, piece, 0, piece.length, position);
      }

      return piece.subarray(position - start, Math.min(position - start + length, filled));
    },
  };
}
