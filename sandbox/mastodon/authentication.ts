import type { Middleware } from 'koa';
import { mastodonAccount } from '../accounts.ts';
import { Refusal } from '../refusal.ts';

/** Answers in Mastodon's error shape. */
export const answerErrors: Middleware = async (ctx, next) => {
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

/** For calls that only the account may make. */
export const requireToken: Middleware = (ctx, next) => {
  if (tokenOf(ctx.get('authorization')) !== mastodonAccount.accessToken) {
    throw new Refusal(401, 'The access token is invalid');
  }
  return next();
};

/** For calls that anybody may make: no token is fine, a wrong one is not. */
export const requireTokenIfAny: Middleware = (ctx, next) =>
  ctx.get('authorization') === '' ? next() : requireToken(ctx, next);

function tokenOf(header: string): string | undefined {
  return /^bearer\s+(?<token>\S+)$/iv.exec(header)?.groups?.['token'];
}
