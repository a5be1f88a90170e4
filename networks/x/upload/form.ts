import { Readable } from 'node:stream';
import type { NetworkRequest } from '../../send-network-request.ts';

/**
 * A form with fields and one part `media`, built by hand, to stream the file with a length that is known in advance.
 * The file's own name is not sent, because it may reveal more than its owner wants to publish.
 *
 * Source: RFC 7578.
 *
 * @param bytes Exactly `sizeBytes` of them.
 */
export function mediaForm(
  fields: Readonly<Record<string, string>>,
  bytes: AsyncIterable<Buffer> | readonly Buffer[],
  sizeBytes: number,
): NonNullable<NetworkRequest['file']> {
  const boundary = `punctual-${crypto.randomUUID()}`;
  const named = Object.entries(fields).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head = Buffer.from(
    `${named.join('')}--${boundary}\r\nContent-Disposition: form-data; name="media"; filename="media"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* form() {
    yield head;
    yield* bytes;
    yield tail;
  }

  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: { stream: Readable.from(form()), sizeBytes: head.length + sizeBytes + tail.length },
  };
}
