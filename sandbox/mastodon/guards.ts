import type { Context, Middleware } from 'koa';
import type { SandboxDeps } from '../deps.ts';
import { checkAccessToken, admit, bearerIn, hasScope } from '../oauth/access.ts';
import { Refusal } from '../refusal.ts';
import { account } from './account.ts';

/** Authorization of calls. A scope permits a call, and so does the wider one before its colon. */
export type Guards = {
  /** For calls that require a token. */
  readonly requireToken: (scope: string) => Middleware;
  /** For public calls: a token is optional, but a wrong one is refused. */
  readonly requireTokenIfAny: (scope: string) => Middleware;
};

const statics = [{ value: account.accessToken, scopes: null }];

const refusals = {
  unknown: 'The access token is invalid',
  ended: 'The access token expired',
  revoked: 'The access token was revoked',
} as const;

/** Mastodon's response to an invalid token. */
export const badToken = (why: keyof typeof refusals): Refusal => new Refusal(401, refusals[why]);

export function guardsOf(deps: SandboxDeps): Guards {
  const assertToken = (ctx: Context, scope: string): void => {
    const access = checkAccessToken(deps, 'mastodon', bearerIn(ctx), statics);
    if (typeof access === 'string') {
      throw badToken(access);
    }
    admit(ctx, access);
    if (!hasScope(ctx, scope, scope.split(':')[0] ?? '')) {
      throw new Refusal(403, 'This action is outside the authorized scopes');
    }
  };
  return {
    requireToken: (scope) => (ctx, next) => {
      assertToken(ctx, scope);
      return next();
    },
    requireTokenIfAny: (scope) => (ctx, next) => {
      if (ctx.get('authorization') !== '') {
        assertToken(ctx, scope);
      }
      return next();
    },
  };
}

/** Converts errors to Mastodon's error format. */
export const answerMastodonErrors: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal(500, 'The sandbox broke.');
    if (refusal !== error) {
      ctx.app.emit('error', error, ctx);
    }
    ctx.status = refusal.status;
    ctx.set(refusal.headers);
    ctx.body = { error: refusal.message };
  }
};
