import type Koa from 'koa';
import type { Logger } from '../../runtime/logger.ts';
import { clientAddress } from './client-address.ts';
import { createCrowd } from './crowd.ts';

type Server = ReturnType<Koa['listen']>;

/** In milliseconds. An address that is refused is refused often. */
const quietMs = 60_000;

export type ConnectionBounds = {
  /** Open at the same time by one address; 0 is no bound. */
  readonly most: number;
  /** Before the API. All connections are theirs, and their requests are bounded by whom they forward for. */
  readonly trustedProxies: number;
  readonly log: Logger;
};

/** Closes connections beyond those that one address may have open, before anything of them is read. */
export function boundConnections(
  server: Server,
  { most, trustedProxies, log }: ConnectionBounds,
): void {
  const enter = createCrowd(trustedProxies > 0 ? 0 : most);
  let toldMs = -Infinity;
  server.on('connection', (socket) => {
    const address = clientAddress(socket.remoteAddress ?? '');
    const leave = enter(address);
    if (leave) {
      socket.once('close', leave);
      return;
    }

    socket.destroy();
    if (performance.now() - toldMs > quietMs) {
      toldMs = performance.now();
      log.warn(
        { address, most },
        'an address has too many connections open; more are closed (PUNCTUAL_CONNECTIONS_PER_ADDRESS)',
      );
    }
  });
}
