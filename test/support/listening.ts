import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { ExecutionContext } from 'ava';

/** Listens on a free port of 127.0.0.1 until the test ends, and returns the port. */
export async function listening(
  t: Pick<ExecutionContext, 'teardown'>,
  server: Server & { keepAliveTimeout?: number; closeAllConnections?: () => void },
): Promise<number> {
  // Longer than its client keeps idle connections: a stalled process would reuse a closed one.
  server.keepAliveTimeout = 75_000;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
