import Koa from 'koa';
import { isDatabaseReachable } from '../db/database-errors.ts';
import type { Orm } from '../db/orm.ts';
import { awaitsRestoreFinish, restoredDatabase } from '../db/restore-counter.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Temporal } from '../temporal/connect.ts';
import { lastPolls } from '../temporal/workflow-states.ts';

/** Time limit of the request to Temporal, in milliseconds. */
const deadlineMs = 2000;

type HealthSettings = {
  readonly host: string;
  /** 0 for no server. */
  readonly workerHealthPort: number;
};

/**
 * Serves `/livez` and `/readyz` of a worker. If the port is taken, as by another worker, it runs without them.
 *
 * @param isPolling Whether the worker takes tasks.
 * @returns a function that stops the server.
 */
export function serveHealth(
  { host, workerHealthPort: port }: HealthSettings,
  { orm, temporal }: { readonly orm: Orm; readonly temporal: Temporal },
  log: Logger,
  isPolling: () => boolean,
): () => void {
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/livez') {
      ctx.body = { ok: true };
    } else if (ctx.path === '/readyz') {
      const polls = lastPolls(temporal, deadlineMs).then((answer) => answer !== null);
      const found = await Promise.all([isDatabaseReachable(orm), polls]);
      const [postgresql, connected] = found.map((answers) => (answers ? 'ok' : 'does not answer'));
      const isRestored = !isPolling() && postgresql === 'ok' && (await awaitsRestoreFinish(orm));
      const why = isRestored ? restoredDatabase : 'not yet, or no longer';
      const polling = isPolling() ? 'ok' : why;
      const ready = [postgresql, connected, polling].every((part) => part === 'ok');
      ctx.status = ready ? 200 : 503;
      ctx.body = { ready, postgresql, temporal: connected, polling };
    }
  });
  const server = port === 0 ? null : app.listen(port, host);
  server?.on('error', (error) => {
    log.warn(
      `cannot listen on ${host}:${port} (${error.message}): this worker has no /livez and /readyz. PUNCTUAL_WORKER_HEALTH_PORT sets another port, or 0 for none.`,
    );
  });
  return () => {
    server?.close();
    server?.closeAllConnections();
  };
}
