import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';

/** Refuses a request for what is no URL (`GET http://[::1/`), which Koa cannot read either: it throws at each look. */
export const readableTarget: Middleware = async (ctx, next) => {
  const { url = '/' } = ctx.req;
  if (!/^[\/*]/v.test(url) && !URL.canParse(url)) {
    ctx.req.url = '/'; // So that whoever answers may look.
    throw new AppError('invalid_request', 'The address of the request is not a URL.');
  }

  await next();
};
