import { Router } from '@koa/router';
import type { ApiDeps } from '../deps.ts';

/** For whoever runs the service; needs no key and lies outside the versioned paths. */
export const healthRouter = (deps: ApiDeps): Router =>
  new Router()
    .get('/healthz', (ctx) => {
      ctx.body = { ok: true };
    })
    .get('/readyz', async (ctx) => {
      const parts = await deps.readiness();
      const ready = Object.values(parts).every((part) => part === 'ok');
      ctx.status = ready ? 200 : 503;
      ctx.body = { ready, ...parts };
    });
