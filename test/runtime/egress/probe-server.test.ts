import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { probeServer } from '../../../runtime/egress/probe-server.ts';

test('a server that closes accepted connections counts as unreachable, not as one without TLS', async (t) => {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  t.deepEqual(await probeServer('127.0.0.1', port, {}), {
    kind: 'unreachable',
    said: 'the connection was closed',
  });
});
