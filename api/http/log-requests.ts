import type { Middleware } from 'koa';
import type { Logger } from '../../runtime/logger.ts';

/** Requests of monitoring, which come every few seconds. */
const probes: ReadonlySet<string> = new Set(['/livez', '/healthz', '/readyz', '/status']);

/**
 * A path for the log, without the query. Links to files and connect links work without a key, so their tokens are cut,
 * and so is anything as long as a key that a caller has put into a path.
 */
export const shownPath = (path: string): string =>
  path
    .replace(/^\/(?<kind>files|connect)\/.*/sv, '/$<kind>/…')
    .replaceAll(/[0-9A-Za-z]{32,}/gv, '…');

/**
 * Logs each request when its answer is ready: at `info` one that may have changed something, or that was refused or
 * failed, and at `debug` the others.
 */
export const logRequests =
  (log: Logger): Middleware =>
  async (ctx, next) => {
    const begun = performance.now();
    await next();
    const { method, path, status, state } = ctx;
    const isRead = (method === 'GET' || method === 'HEAD') && status < 400;
    const level = isRead || probes.has(path) ? 'debug' : 'info';
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
        key_id: state['keyId'],
        workspace_id: state['workspaceId'],
      },
      'request',
    );
  };
