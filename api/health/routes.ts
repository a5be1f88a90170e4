import { Router } from '@koa/router';
import type { ApiDeps } from '../deps.ts';

/** For how long an answer about the parts holds, in milliseconds: calls need no key, and each costs PostgreSQL and Temporal a request. */
const freshMs = 1000;

/** For operators and their load balancers. Needs no key and lies outside the versioned paths. */
export function healthRouter(deps: ApiDeps): Router {
  let last = { atMs: -Infinity, parts: deps.readiness };
  const freshReadiness: ApiDeps['readiness'] = () => {
    const atMs = performance.now();
    if (atMs - last.atMs >= freshMs) {
      const answer = deps.readiness();
      last = { atMs, parts: () => answer };
    }

    return last.parts();
  };
  return new Router()
    .get('/healthz', (ctx) => {
      ctx.body = { ok: true };
    })
    .get('/readyz', async (ctx) => {
      const parts = await freshReadiness();
      const ready = Object.values(parts).every((part) => part === 'ok');
      ctx.status = ready ? 200 : 503;
      ctx.body = { ready, ...parts };
    });
}
