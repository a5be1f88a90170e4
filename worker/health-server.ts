import Koa from 'koa';
import { databaseAnswers } from '../db/answers.ts';
import { awaitsRestoreFinish, restoredDatabase } from '../db/beats.ts';
import type { Orm } from '../db/orm.ts';
import type { Logger } from '../runtime/logger.ts';

/** Asks the database only when it has just answered. */
const whyNot = async (orm: Orm, postgresql: string): Promise<string> =>
  postgresql === 'ok' && (await awaitsRestoreFinish(orm))
    ? restoredDatabase
    : 'not yet, or no longer';

export type HealthSettings = {
  readonly host: string;
  /** 0: there is none. */
  readonly workerHealthPort: number;
};

/**
 * Serves `/livez` and `/readyz` of a worker, from the start of its process. A worker whose port is taken, as by another
 * one on the same machine, works without them.
 *
 * @param isPolling Whether it takes tasks: not before it has begun, nor once it stops.
 * @returns a function that stops it.
 */
export function serveHealth(
  { host, workerHealthPort: port }: HealthSettings,
  orm: Orm,
  log: Logger,
  isPolling: () => boolean,
): () => void {
  const app = new Koa();
  app.use(async (ctx) => {
    if (ctx.path === '/livez') {
      ctx.body = { ok: true };
    } else if (ctx.path === '/readyz') {
      const postgresql = (await databaseAnswers(orm)) ? 'ok' : 'does not answer';
      const polling = isPolling() ? 'ok' : await whyNot(orm, postgresql);
      const ready = postgresql === 'ok' && polling === 'ok';
      ctx.status = ready ? 200 : 503;
      ctx.body = { ready, postgresql, polling };
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
