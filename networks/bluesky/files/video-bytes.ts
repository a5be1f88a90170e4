import type { PartMedia } from '../../network.ts';
import { fileBytes } from '../../file-bytes.ts';

/** The end of an MP4's brand, which follows the size and the name of its first box. */
const brandEnd = 12;

/**
 * The bytes of a file to upload. An M4V gets the brand of an MP4, which is the only difference between them: a server
 * detects the type from the brand (`video/x-m4v`), and a record may only show `video/mp4`.
 *
 * @throws NetworkError when the file is gone or cannot be read.
 */
export async function* bytesToSend(file: PartMedia): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of fileBytes(file)) {
    if (head === null) {
      yield chunk;
      continue;
    }

    head = Buffer.concat([head, chunk]);
    if (head.length >= brandEnd) {
      yield asMp4(head);
      head = null;
    }
  }

  if (head !== null) {
    yield head;
  }
}

const asMp4 = (head: Buffer): Buffer =>
  head.toString('latin1', 4, 11) === 'ftypM4V'
    ? Buffer.concat([head.subarray(0, 8), Buffer.from('mp42'), head.subarray(brandEnd)])
    : head;
