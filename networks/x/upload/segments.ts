import { fileBytes } from '../../file-bytes.ts';
import type { PartMedia } from '../../network.ts';

/** X accepts up to 5 MB per request and up to 1000 segments; 512 MB are 128 of these. */
export const segmentBytes = 4 * 1024 * 1024;

export const segmentsOf = ({ sizeBytes }: PartMedia): number => Math.ceil(sizeBytes / segmentBytes);

/**
 * The segments of a file, in order, with one in memory at a time.
 *
 * @param first Index of the first segment, below their number.
 * @throws NetworkError as `fileBytes`, before the last segment is returned.
 */
export async function* segmentsFrom(file: PartMedia, first: number): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of fileBytes(file, first * segmentBytes)) {
    let rest = piece;
    while (length + rest.length > segmentBytes) {
      yield Buffer.concat([...pieces, rest.subarray(0, segmentBytes - length)]);
      rest = rest.subarray(segmentBytes - length);
      pieces = [];
      length = 0;
    }

    pieces.push(rest);
    length += rest.length;
  }

  yield Buffer.concat(pieces);
}
