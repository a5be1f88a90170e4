import { closeSync, openSync, readSync } from 'node:fs';

/** Boxes that a QuickTime file may begin with instead of `ftyp`. */
const beginnings = new Set(['moov', 'mdat', 'wide', 'free', 'skip', 'pnot', 'udta']);

/** The most boxes before the `ftyp` of an MP4; there is seldom more than one. */
const mostBoxes = 16;

/**
 * The type of a video that does not begin with `ftyp`: MP4 where that comes later, and QuickTime where it does not, which
 * needs none. Null for a file that begins otherwise.
 */
export function typeByBoxes(filePath: string): 'video/quicktime' | 'video/mp4' | null {
  const file = openSync(filePath, 'r');
  try {
    const head = Buffer.alloc(16);
    for (let [position, count] = [0, 0]; count < mostBoxes; count += 1) {
      const read = readSync(file, head, 0, 16, position);
      const name = head.toString('latin1', 4, 8);
      if (read < 8 || (count === 0 && !beginnings.has(name))) {
        return count === 0 ? null : 'video/quicktime';
      }

      if (name === 'ftyp') {
        return head.toString('latin1', 8, 12) === 'qt  ' ? 'video/quicktime' : 'video/mp4';
      }

      const [short, long] = [head.readUInt32BE(0), head.readBigUInt64BE(8)];
      const size = short === 1 ? Number(long) : short;
      if (size < 8) {
        return count === 0 && size !== 0 ? null : 'video/quicktime';
      }

      position += size;
    }

    return 'video/quicktime';
  } finally {
    closeSync(file);
  }
}
