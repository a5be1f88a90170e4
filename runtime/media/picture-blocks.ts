import { readSync } from 'node:fs';

// Readers of the blocks that picture files consist of.

export type Reader = {
  /** Returns `length` bytes, or fewer at the end of the file. */
  at(position: number, length: number): Buffer;
};

/** Reads large pieces, as most requests are for a few bytes. */
export function createReader(file: number): Reader {
  const piece = Buffer.alloc(256 * 1024);
  let start = 0;
  let filled = readSync(file, piece, 0, piece.length, start);
  return {
    at(position, length) {
      const isLast = filled < piece.length;
      if (position < start || (position + length > start + filled && !isLast)) {
        start = position;
        filled = readSync(file, piece, 0, piece.length, position);
      }

      return piece.subarray(position - start, Math.min(position - start + length, filled));
    },
  };
}

type Segment = { readonly marker: number; readonly start: number; readonly length: number };

export const endMarker = 0xd9;

/** Yields the segments and the end. Like libjpeg, skips any bytes before the next marker. */
export function* jpegSegments(reader: Reader): Generator<Segment> {
  for (let position = 2; ;) {
    const piece = reader.at(position, 64 * 1024);
    const found = piece.indexOf(0xff);
    if (piece.length === 0) {
      return;
    }

    position += found === -1 ? piece.length : found + 1;
    const [marker = 0] = found === -1 ? [] : reader.at(position, 1);
    const isFilling = marker === 0xff; // Read again as the first byte of a marker.
    position += found === -1 || isFilling ? 0 : 1;
    if (marker === endMarker) {
      yield { marker, start: position, length: 0 };
      return;
    }

    const isAlone = marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd8);
    if (!isFilling && !isAlone) {
      const [high = 0, low = 2] = reader.at(position, 2);
      const length = Math.max(2, high * 256 + low);
      yield { marker, start: position + 2, length: length - 2 };
      position += length;
    }
  }
}

type Chunk = { readonly name: string; readonly start: number; readonly length: number };

/** Yields the chunks of a PNG, up to the last one. */
export function* pngChunks(reader: Reader): Generator<Chunk> {
  for (let position = 8; ;) {
    const head = Buffer.from(reader.at(position, 8));
    if (head.length < 8) {
      return;
    }

    const [length, name] = [head.readUInt32BE(0), head.toString('latin1', 4)];
    yield { name, start: position + 8, length };
    position += 12 + length;
    if (name === 'IEND') {
      return;
    }
  }
}
