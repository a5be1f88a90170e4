import type { Config } from '../runtime/config.ts';
import { describeError } from '../runtime/logger.ts';
import { createApp } from './app.ts';
import type { ApiDeps } from './deps.ts';
import { answerBroken, refuseExpectation } from './http/errors.ts';
import { boundConnections, type ConnectionBounds } from './rate-limits/crowd.ts';

/**
 * How long a connection without a request stays open, in milliseconds. Longer than load balancers keep theirs (60 s as a
 * rule): who closes first decides, and a call that meets a connection just being closed fails without an answer, so
 * that its caller does not know whether the post was created.
 */
const idleMs = 75_000;

/** In milliseconds. What is still open then is cut off. */
const longestGoodbyeMs = 10_000;

/**
 * Listens on the configured address; a process that cannot ends.
 *
 * @returns a function that takes no more connections and resolves when open requests are answered.
 */
export function serve(deps: ApiDeps, { host, port }: Config): () => Promise<void> {
  const { log } = deps;
  const server = createApp(deps).listen(port, host, () => {
    // Where the setting is 0, the system has chosen one.
    const bound = server.address();
    const chosen = typeof bound === 'object' && bound ? bound.port : port;
    log.info({ address: `http://${host}:${chosen}` }, 'listening');
  });
  configure(server, { most: deps.mostPerAddress, trustedProxies: deps.trustedProxies, log });
  server.on('error', (error) => {
    log.fatal({ error: describeError(error) }, `cannot listen on ${host}:${port}`);
    process.exit(1);
  });
  return async () => {
    setTimeout(() => server.closeAllConnections(), longestGoodbyeMs).unref();
    await new Promise((resolve) => server.close(resolve));
  };
}

type Server = ReturnType<ReturnType<typeof createApp>['listen']>;

/** Sets the bounds of connections, and answers what never gets to Koa. */
export function configure(server: Server, bounds: ConnectionBounds): void {
  boundConnections(server, bounds);
  server.keepAliveTimeout = idleMs;
  // Node's own five minutes are short for 200 MB over a slow line; silence is noticed sooner.
  server.requestTimeout = 30 * 60_000;
  server.on('clientError', answerBroken);
  server.on('checkExpectation', refuseExpectation);
}
