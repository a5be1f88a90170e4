import { closeSync, openSync } from 'node:fs';
import { createReader, type Reader } from './file-reader.ts';

/**
 * Whether a WebP or a GIF has more frames than so many. Goes from one block to the next by their lengths and unpacks
 * nothing; a file that breaks off is for others to refuse. Blocks the process, which has nothing else to do.
 */
export function hasMoreFrames(filePath: string, most: number): boolean {
  const file = openSync(filePath, 'r');
  try {
    const reader = createReader(file);
    const beginning = Buffer.from(reader.at(0, 13)); // The reader's own bytes change.
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

/** Chunks of RIFF: a name, a length, and as many bytes, one more where that is odd. */
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

/** GIF89a, appendix B: after the header and its table of colours come extensions and images, both in sub-blocks. */
function* gifFrames(reader: Reader, beginning: Buffer): Generator<void> {
  for (let position = 13 + coloursOf(beginning[10]); ;) {
    const [kind] = reader.at(position, 1);
    if (kind === extension) {
      position += 2;
    } else if (kind === image) {
      yield;
      const [flags] = reader.at(position + 9, 1);
      position += 10 + coloursOf(flags) + 1; // And how wide its codes are.
    } else {
      return;
    }

    position = afterSubBlocks(reader, position);
  }
}

/** The length of a table of colours, by the flags before it. */
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
