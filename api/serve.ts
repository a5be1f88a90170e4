import type { Config } from '../runtime/config/read-config.ts';
import { describeError } from '../runtime/logger.ts';
import { createApp } from './app.ts';
import type { ApiDeps } from './deps.ts';
import { answerBroken, refuseExpectation } from './http/errors.ts';
import {
  limitConnectionsPerAddress,
  type ConnectionLimits,
} from './rate-limits/concurrency-limit.ts';

/**
 * How long an idle connection stays open, in milliseconds. Longer than at load balancers (usually 60 s): a request on
 * a connection that the server just closes fails without a response, and its caller does not know whether the post was
 * created.
 */
const idleMs = 75_000;

/** Shutdown limit in milliseconds; then open connections are closed. */
const longestGoodbyeMs = 10_000;

/**
 * Listens on the configured address; exits the process when that fails.
 *
 * @returns a function that stops accepting connections and resolves when open requests are answered.
 */
export function serve(deps: ApiDeps, { host, port }: Config): () => Promise<void> {
  const { log } = deps;
  const server = createApp(deps).listen(port, host, () => {
    // With port 0 the system chooses one.
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

/** Sets connection limits, and the handlers of requests that never reach Koa. */
export function configure(server: Server, bounds: ConnectionLimits): void {
  limitConnectionsPerAddress(server, bounds);
  server.keepAliveTimeout = idleMs;
  // Node's default of five minutes is too short for 200 MB over a slow line. Stalled uploads are detected earlier.
  server.requestTimeout = 30 * 60_000;
  server.on('clientError', answerBroken);
  server.on('checkExpectation', refuseExpectation);
}
