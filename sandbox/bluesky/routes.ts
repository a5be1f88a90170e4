import { lexicons } from '@atproto/api';
import { Router, type RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { readBody, readRaw } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import type { BlueskyDeps } from './deps.ts';
import { methods, type Method } from './methods.ts';
import { createTids } from './record.ts';
import { internalError, revoked } from './refusals.ts';
import { createTokens } from './sessions.ts';

/** As much of a personal data server as it takes to publish and to look at what was published. */
export function blueskyRoutes(shared: SandboxDeps): Router {
  const { store, now, script } = shared;
  const deps: BlueskyDeps = {
    ...shared,
    tokens: createTokens(store.secret, now),
    nextTid: createTids(now),
  };
  const router = new Router({ prefix: '/bluesky/xrpc' });
  router.use(answerErrors);
  router.all('/:nsid', async (ctx) => {
    const nsid = ctx.params.nsid ?? '';
    const method = Object.hasOwn(methods, nsid) ? methods[nsid] : undefined;
    if (method === undefined) {
      throw new Refusal(501, 'Method Not Implemented', { code: 'MethodNotImplemented' });
    }
    if (ctx.method !== method.verb) {
      throw new Refusal(405, `Incorrect HTTP method (${ctx.method}) expected ${method.verb}`);
    }
    if (method.needs !== undefined) {
      deps.tokens.check(method.needs, ctx.get('authorization'));
      if (script.isRevoked('bluesky')) {
        throw revoked();
      }
    }
    const answer = await method.run(deps, await inputOf(ctx, nsid, method));
    if (answer === 'none') {
      cutConnection(ctx);
    } else if (answer === 'error') {
      throw internalError();
    } else {
      ctx.body = answer;
    }
  });
  return router;
}

/** The query or the body of a request, checked against the network's own lexicon. */
async function inputOf(
  ctx: RouterContext,
  nsid: string,
  { verb, takesFile }: Method,
): Promise<unknown> {
  if (takesFile) {
    return readRaw(ctx.req);
  }
  const input = verb === 'GET' ? queryOf(ctx.URL.searchParams) : await readBody(ctx.req);
  try {
    return verb === 'GET'
      ? lexicons.assertValidXrpcParams(nsid, input)
      : lexicons.assertValidXrpcInput(nsid, input);
  } catch (error) {
    throw new Refusal(400, error instanceof Error ? error.message : 'Invalid input');
  }
}

/** A query is all text; the lexicon wants numbers and booleans where it says so. */
function queryOf(query: URLSearchParams): Record<string, unknown> {
  const [limit, reverse] = [query.get('limit'), query.get('reverse')];
  return {
    ...Object.fromEntries(query),
    ...(limit === null ? {} : { limit: Number(limit) }),
    ...(reverse === null ? {} : { reverse: reverse === 'true' }),
  };
}

/** Answers in Bluesky's error shape. */
const answerErrors: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const refusal = error instanceof Refusal ? error : internalError('The sandbox broke.');
    if (refusal !== error) {
      ctx.app.emit('error', error, ctx);
    }
    ctx.status = refusal.status;
    ctx.set(refusal.headers);
    ctx.body = { error: refusal.code, message: refusal.message };
  }
};
