import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** A receiver on a real socket that answers as the test writes it. */
export async function answering(
  t: ExecutionContext,
  answer: RequestListener,
): Promise<{ readonly url: string; readonly port: number }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, port };
}
