import { lexicons } from '@atproto/api';
import { Router, type RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { readRequestBody, readRaw } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import type { Signer } from '../orders.ts';
import type { Method } from './method.ts';
import { methods } from './methods.ts';
import { createTids } from './record.ts';
import { internalError, revoked } from './refusals.ts';
import { createTokens } from './sessions.ts';
import { accountNamed } from './account.ts';
import type { BlueskyDeps } from './deps.ts';
import { createProofs, type Proofs } from './oauth/proofs.ts';
import { blueskyOauthRoutes } from './oauth/routes.ts';
import { createServiceTokens } from './video/service-tokens.ts';
import { createVideoJobs } from './video/video-jobs.ts';

/** The parts of a personal data server that publishing and reading back need. */
export function blueskyRoutes(shared: SandboxDeps): Router {
  const { store, now, files, script } = shared;
  const deps = {
    ...shared,
    tokens: createTokens(store.secret, now),
    nextTid: createTids(now),
    serviceTokens: createServiceTokens(store.secret, now),
    jobs: createVideoJobs(files, script),
  };
  const proofs = createProofs(store.secret);
  const router = new Router();
  router.use(blueskyOauthRoutes(shared, proofs).routes());
  router.all('/bluesky/xrpc/:nsid', answerErrors, async (ctx) => {
    const nsid = ctx.params.nsid ?? '';
    const method = Object.hasOwn(methods, nsid) ? methods[nsid] : undefined;
    if (method === undefined) {
      throw new Refusal(501, 'Method Not Implemented', { code: 'MethodNotImplemented' });
    }
    if (ctx.method !== method.verb) {
      throw new Refusal(405, `Incorrect HTTP method (${ctx.method}) expected ${method.verb}`);
    }
    const serverDid = `did:web:${encodeURIComponent(ctx.host)}`;
    const there = { ...deps, serverDid, query: ctx.URL.searchParams };
    const by = method.needs ? signerOf(ctx, there, proofs, method.needs) : anonymous;
    const answer = await method.run({ ...there, by }, await inputOf(ctx, nsid, method));
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

const anonymous: Signer = { account: 'demo', hasGrant: false };

/**
 * The account of the request: by the token of an app password's session, of a grant with its proof, or of a service.
 */
function signerOf(
  ctx: RouterContext,
  deps: Omit<BlueskyDeps, 'by'>,
  proofs: Proofs,
  needs: NonNullable<Method['needs']>,
): Signer {
  if (typeof needs === 'object') {
    const wanted = { aud: deps.serverDid, lxm: needs.service };
    const did = deps.serviceTokens.check(ctx.get('authorization'), wanted);
    return { account: accountNamed(did) ?? 'demo', hasGrant: false };
  }
  const token = /^dpop\s+(?<token>\S+)$/iv.exec(ctx.get('authorization'))?.groups?.['token'];
  if (token === undefined) {
    deps.tokens.check(needs, ctx.get('authorization'));
    if (deps.script.isRevoked('bluesky')) {
      throw revoked();
    }
    return anonymous;
  }
  ctx.set('dpop-nonce', proofs.nonce());
  const jkt = proofs.check(ctx, token);
  const state = deps.grants.access('bluesky', token);
  if (state.kind !== 'live' || state.grant.data?.['jkt'] !== jkt || needs !== 'access') {
    const code = state.kind === 'live' ? 'invalid_dpop_key_binding' : 'invalid_token';
    throw new Refusal(401, `The access token is not good (${state.kind})`, { code });
  }
  return { account: state.grant.account, hasGrant: true };
}

/** The query or the body of a request, checked against the network's own lexicon. */
async function inputOf(
  ctx: RouterContext,
  nsid: string,
  { verb, takesFile }: Method,
): Promise<unknown> {
  if (takesFile) {
    const type = ctx.get('content-type');
    if (takesFile !== true && type !== takesFile) {
      throw new Refusal(400, `Wrong request encoding (Content-Type): ${type}`);
    }
    return readRaw(ctx.req);
  }
  const input = verb === 'GET' ? queryOf(ctx.URL.searchParams) : await readRequestBody(ctx.req);
  try {
    return verb === 'GET'
      ? lexicons.assertValidXrpcParams(nsid, input)
      : lexicons.assertValidXrpcInput(nsid, input);
  } catch (error) {
    throw new Refusal(400, error instanceof Error ? error.message : 'Invalid input');
  }
}

/** Converts the query's texts to numbers and booleans where the lexicon expects them. */
function queryOf(query: URLSearchParams): Record<string, unknown> {
  const [limit, reverse, exp] = ['limit', 'reverse', 'exp'].map((name) => query.get(name));
  return {
    ...Object.fromEntries(query),
    ...(query.has('uris') && { uris: query.getAll('uris') }),
    ...(limit && { limit: Number(limit) }),
    ...(reverse && { reverse: reverse === 'true' }),
    ...(exp && { exp: Number(exp) }),
  };
}

/** Converts errors to Bluesky's error format. */
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
    ctx.body = { error: refusal.code, message: refusal.message, ...refusal.extra };
  }
};
