import { Readable } from 'node:stream';
import type { StreamedBody } from '../../runtime/egress/egress.ts';
import { fileBytes } from '../file-bytes.ts';
import type { PartMedia } from '../network.ts';

/**
 * A form with one field `file`, written by hand so that it is sent as it is read, with a length known before.
 *
 * The file's own name stays here: it may say more than its owner means to publish.
 *
 * Source: RFC 7578.
 */
export function multipart(file: PartMedia): { type: string; body: StreamedBody } {
  const boundary = `punctual-${crypto.randomUUID()}`;
  const head = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file.${endingOf(file.type)}"\r\n` +
      `Content-Type: ${file.type}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* form() {
    yield head;
    yield* fileBytes(file);
    yield tail;
  }

  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: {
      stream: Readable.from(form()),
      sizeBytes: head.length + file.sizeBytes + tail.length,
    },
  };
}

/** Servers that look at it expect the usual one. */
const endingOf = (type: string): string =>
  type === 'video/quicktime' ? 'mov' : (type.split('/')[1] ?? '').replaceAll(/[^a-z0-9]/gu, '');
