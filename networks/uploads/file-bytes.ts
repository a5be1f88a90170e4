import { Readable } from 'node:stream';
import type { NetworkRequest } from '../http.ts';
import { NetworkError, type PartMedia } from '../network.ts';

export type FileContent = NonNullable<NetworkRequest['file']>;

/**
 * Streams the bytes of a file, or a range of them. Opens it only when the first bytes are read. The end of the file
 * leaves only once the file has proved to have its recorded size, so that no network completes a damaged one.
 */
export async function* fileBytes(
  file: PartMedia,
  from = 0,
  to = file.sizeBytes,
): AsyncGenerator<Buffer> {
  const { name, sizeBytes } = file;
  let length = from;
  let last: Buffer | undefined;
  const stream = await file.open(from);
  try {
    for await (const chunk of stream) {
      length += chunk.length;
      if (length > sizeBytes) {
        break;
      }
      if (last) {
        yield last;
      }
      last = chunk as Buffer;
      if (length >= to && to < sizeBytes) {
        yield last.subarray(0, last.length - (length - to));
        return;
      }
    }
  } catch (error) {
    const message = `The file "${name}" could not be read to its end: the media storage of this service broke off.`;
    throw new NetworkError('internal', message, { accepted: 'no', cause: error });
  }

  if (length !== sizeBytes) {
    const message = `The file "${name}" is damaged: it no longer has the ${sizeBytes} bytes that it had. Upload it again for a new post.`;
    throw new NetworkError('media_refused', message, { accepted: 'no' });
  }
  if (last) {
    yield last;
  }
}

export const contentOf = (
  file: PartMedia,
  type = file.type,
  from = 0,
  to = file.sizeBytes,
): FileContent => ({
  type,
  body: { stream: Readable.from(fileBytes(file, from, to)), sizeBytes: to - from },
});

export const contentOfBytes = (bytes: Buffer, type: string): FileContent => ({
  type,
  body: { stream: Readable.from([bytes]), sizeBytes: bytes.length },
});

/**
 * A form with texts and one file, built by hand, to stream the file with a length that is known in advance. The file's
 * own name is not sent, because it may reveal more than its owner wants to publish.
 *
 * Source: RFC 7578.
 */
export function formOf(
  fields: Readonly<Record<string, string>>,
  name: string,
  fileName: string,
  { type, body }: FileContent,
): FileContent {
  const boundary = `punctual-${crypto.randomUUID()}`;
  const begin = `--${boundary}\r\nContent-Disposition: form-data; name=`;
  const texts = Object.entries(fields).map(
    ([field, text]) => `${begin}"${field}"\r\n\r\n${text}\r\n`,
  );
  const head = Buffer.from(
    `${texts.join('')}${begin}"${name}"; filename="${fileName}"\r\nContent-Type: ${type}\r\n\r\n`,
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* form() {
    yield head;
    yield* body.stream;
    yield tail;
  }

  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: { stream: Readable.from(form()), sizeBytes: head.length + body.sizeBytes + tail.length },
  };
}
