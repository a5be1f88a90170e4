import { closeSync, openSync, readSync } from 'node:fs';

/** Boxes that may start a QuickTime file instead of `ftyp`. */
const firstBoxTypes = new Set(['moov', 'mdat', 'wide', 'free', 'skip', 'pnot', 'udta']);

/** The most boxes before the `ftyp` of an MP4; usually there is at most one. */
const mostBoxes = 16;

/**
 * Returns the type of a video that does not start with `ftyp`: MP4 when it follows later, otherwise QuickTime, which
 * does not need it. Null for other files.
 */
export function typeByBoxes(filePath: string): 'video/quicktime' | 'video/mp4' | null {
  const file = openSync(filePath, 'r');
  try {
    const head = Buffer.alloc(16);
    for (let [position, count] = [0, 0]; count < mostBoxes; count += 1) {
      const read = readSync(file, head, 0, 16, position);
      const name = head.toString('latin1', 4, 8);
      if (read < 8 || (count === 0 && !firstBoxTypes.has(name))) {
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
