import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** A port of the loopback that nobody listened on a moment ago. Somebody may before you do, so use it at once. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
