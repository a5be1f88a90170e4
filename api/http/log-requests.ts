import type { Middleware } from 'koa';
import type { Logger } from '../../runtime/logger.ts';

/** Requests of monitoring, which come every few seconds. */
const probes: ReadonlySet<string> = new Set(['/livez', '/healthz', '/readyz', '/status']);

/**
 * A path for the log, without the query. Links to files and connect links work without a key, so their tokens are cut.
 * Text as long as an API key is cut too.
 */
export const shownPath = (path: string): string =>
  path
    .replace(/^\/(?<kind>files|connect)\/.*/sv, '/$<kind>/…')
    .replaceAll(/[0-9A-Za-z]{32,}/gv, '…')
    .slice(0, 200);

/**
 * Logs each request when its answer is ready: at `info` a write, a refused call with a valid key, and every 5xx; at
 * `debug` other reads, probes, and refusals without a valid key, which anyone can cause.
 */
export const logRequests =
  (log: Logger): Middleware =>
  async (ctx, next) => {
    const begun = performance.now();
    await next();
    const { method, status, state } = ctx;
    const path = ctx.path || '/'; // It is null for `GET redis://localhost`.
    const isRead = method === 'GET' || method === 'HEAD';
    const isProbe = probes.has(path);
    const isFailure = status >= 500 || (status >= 400 && state['keyId'] !== undefined);
    const isQuiet = isProbe || !(isFailure || (status < 400 && !isRead));
    const level = isQuiet ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) {
      return;
    }

    log[level](
      {
        request_id: state['requestId'],
        method,
        path: shownPath(path),
        status,
        ms: Math.round(performance.now() - begun),
        key: state['keyId'],
        workspace: state['workspaceId'],
      },
      'request',
    );
  };
