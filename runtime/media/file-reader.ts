import { readSync } from 'node:fs';

export type Reader = {
  /** Returns `length` bytes, or fewer at the end of the file. */
  at(position: number, length: number): Buffer;
};

/** Reads large pieces, as most requests are for a few bytes. */
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
