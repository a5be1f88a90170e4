import { closeSync, openSync } from 'node:fs';
import { createReader, type Reader } from './file-reader.ts';

/**
 * Whether a WebP or a GIF has more frames than `most`. Skips from block to block by their lengths and decodes nothing.
 * Other checks refuse a truncated file. Blocks the process, which has no other work.
 */
export function hasMoreFrames(filePath: string, most: number): boolean {
  const file = openSync(filePath, 'r');
  try {
    const reader = createReader(file);
    const beginning = Buffer.from(reader.at(0, 13)); // The reader reuses its buffer.
    const frames = beginning.toString('latin1', 0, 4) === 'RIFF' ? webpFrames : gifFrames;
    if (frames === gifFrames && beginning.toString('latin1', 0, 3) !== 'GIF') {
      return false;
    }

    const found = frames(reader, beginning);
    for (let count = 0; count <= most; count += 1) {
      if (found.next().done) {
        return false;
      }
    }

    return true;
  } finally {
    closeSync(file);
  }
}

/** RIFF chunks: a name, a length, that many bytes, and a padding byte when the length is odd. */
function* webpFrames(reader: Reader): Generator<void> {
  for (let position = 12; ;) {
    const chunk = reader.at(position, 8);
    if (chunk.length < 8) {
      return;
    }

    if (chunk.toString('latin1', 0, 4) === 'ANMF') {
      yield;
    }

    const length = chunk.readUInt32LE(4);
    position += 8 + length + (length % 2);
  }
}

const [extension, image] = [0x21, 0x2c];

/** GIF89a, appendix B: the header and its colour table, then extensions and images, both in sub-blocks. */
function* gifFrames(reader: Reader, beginning: Buffer): Generator<void> {
  for (let position = 13 + coloursOf(beginning[10]); ;) {
    const [kind] = reader.at(position, 1);
    if (kind === extension) {
      position += 2;
    } else if (kind === image) {
      yield;
      const [flags] = reader.at(position + 9, 1);
      position += 10 + coloursOf(flags) + 1; // The last byte is the code size.
    } else {
      return;
    }

    position = afterSubBlocks(reader, position);
  }
}

/** Length of a colour table, from the flags before it. */
const coloursOf = (flags = 0): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

function afterSubBlocks(reader: Reader, start: number): number {
  for (let position = start; ;) {
    const [length = 0] = reader.at(position, 1);
    position += 1 + length;
    if (length === 0) {
      return position;
    }
  }
}
