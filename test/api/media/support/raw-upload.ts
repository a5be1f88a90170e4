import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import type { Client } from '../../../support/client.ts';
import type { Punctual } from '../../../support/punctual.ts';

const boundary = 'b';

/** The bytes before and after the file. */
export const head = Buffer.from(
  `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n`,
);
export const tail = Buffer.from(`\r\n--${boundary}--\r\n`);

/** An upload whose body the test writes. It is aborted at the end of the test. */
export function beginUpload(
  t: ExecutionContext,
  { url }: Pick<Punctual, 'url'>,
  { key }: Pick<Client, 'key'>,
  headers: Readonly<Record<string, string | number>> = {},
  path = '/api/v1/media',
): ClientRequest {
  const upload = request(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...headers,
    },
  });
  upload.flushHeaders();
  upload.on('error', () => {}); // Some tests expect to be disconnected.
  t.teardown(() => upload.destroy());
  return upload;
}

/** The response to an upload, possibly before its end. */
export async function answerTo(upload: ClientRequest) {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: JSON.parse(await text(response)) };
}

/** Writes as fast as the server reads. */
export async function write(upload: ClientRequest, bytes: Uint8Array, count = 1): Promise<void> {
  for (let written = 0; written < count && !upload.destroyed; written += 1) {
    if (!upload.write(bytes)) {
      const close = new AbortController();
      const gone = once(upload, 'close', { signal: close.signal }).catch(() => undefined);
      await Promise.race([once(upload, 'drain').catch(() => undefined), gone]);
      close.abort();
    }
  }
}
