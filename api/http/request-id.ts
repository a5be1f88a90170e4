import type { Middleware } from 'koa';

/** Gives each request an id, or keeps the caller's own when it is harmless, and sends it back. */
export const requestId: Middleware = async (ctx, next) => {
  const given = ctx.get('X-Request-Id');
  const id = /^[\w.:\-]{1,100}$/v.test(given) ? given : crypto.randomUUID();
  ctx.state['requestId'] = id;
  ctx.set('X-Request-Id', id);
  await next();
};
