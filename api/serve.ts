import type { Config } from '../runtime/config.ts';
import { describeError } from '../runtime/describe-error.ts';
import { createApp } from './app.ts';
import type { ApiDeps } from './deps.ts';
import { answerBroken } from './http/answer-broken.ts';

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
  // Node's own five minutes are short for 200 MB over a slow line; silence is noticed sooner.
  server.requestTimeout = 30 * 60_000;
  server.on('clientError', answerBroken);
  server.on('error', (error) => {
    log.fatal({ error: describeError(error) }, `cannot listen on ${host}:${port}`);
    process.exit(1);
  });
  return async () => {
    setTimeout(() => server.closeAllConnections(), longestGoodbyeMs).unref();
    await new Promise((resolve) => server.close(resolve));
  };
}
