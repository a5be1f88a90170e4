import { Router } from '@koa/router';
import type { ApiDeps } from '../deps.ts';

/**
 * How long an answer is reused, in milliseconds: calls need no key, and each costs a request to PostgreSQL and
 * Temporal.
 */
const freshMs = 1000;

/** For operators, load balancers and orchestrators. Needs no key and is outside the versioned paths. */
export function healthRouter(deps: ApiDeps): Router {
  const readiness = fresh(deps.readiness);
  const status = fresh(deps.status);
  return new Router()
    .get(['/livez', '/healthz'], (ctx) => {
      ctx.body = { ok: true };
    })
    .get('/readyz', async (ctx) => {
      const parts = await readiness();
      const ready = isOk(parts);
      ctx.status = ready ? 200 : 503;
      ctx.body = { ready, ...parts };
    })
    .get('/status', async (ctx) => {
      const { parts, backlog } = await status();
      const ok = isOk(parts);
      ctx.status = ok ? 200 : 503;
      ctx.body = { ok, ...parts, backlog };
    });
}

const isOk = (parts: Readonly<Record<string, string>>): boolean =>
  Object.values(parts).every((part) => part === 'ok');

/** Calls `ask` at most once per `freshMs`. */
function fresh<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const atMs = performance.now();
    if (!last || atMs - last.atMs >= freshMs) {
      last = { atMs, answer: ask() };
    }

    return last.answer;
  };
}
