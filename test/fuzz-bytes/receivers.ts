import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { parseAllowList } from '../../runtime/egress/addresses.ts';
import { createEgress } from '../../runtime/egress/create-egress.ts';
import { EgressError } from '../../runtime/egress/egress.ts';
import { near, type Property } from './property.ts';

const goodAnswers = [
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
  'HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n',
  'HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.0 301 Moved\r\nlocation: http://127.0.0.1/\r\n\r\n',
  'HTTP/1.1 429 Slow\r\nretry-after: 10\r\ncontent-length: 0\r\n\r\n',
].map((text) => Buffer.from(text, 'latin1'));

const timeoutMs = 500;

/** A receiver that answers with these bytes, and then may close the connection. */
export async function receiverProperty(t: ExecutionContext): Promise<Property> {
  let next: { bytes: Buffer; isClosed: boolean } = { bytes: Buffer.alloc(0), isClosed: true };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (next.isClosed ? socket.end(next.bytes) : socket.write(next.bytes)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const egress = createEgress({ allow: parseAllowList(`127.0.0.1/32:${port}`) });
  t.teardown(async () => {
    await egress.close();
    server.close();
  });
  const url = `http://127.0.0.1:${port}/hook`;
  return {
    name: 'answers of webhook receivers',
    check: fc.asyncProperty(
      fc.oneof(
        near(...goodAnswers),
        fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)),
      ),
      fc.boolean(),
      async (bytes, isClosed) => {
        next = { bytes, isClosed };
        const beganMs = performance.now();
        try {
          const { status } = await egress.request({
            method: 'POST',
            url,
            body: '{}',
            timeoutMs,
            maxBytes: 1000,
          });
          if (!Number.isInteger(status) || status < 200 || status > 999) {
            throw new Error(`The answer was accepted with an invalid status: ${status}.`);
          }
        } catch (error) {
          if (!(error instanceof EgressError)) {
            throw error;
          }
        }

        if (performance.now() - beganMs > timeoutMs + 10_000) {
          throw new Error('The request took longer than its timeout.');
        }
      },
    ),
  };
}
