import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';
import type { Route } from './route.ts';

/**
 * Answers 405 for a path without parameters that takes other methods. The router alone would take the last word of
 * `GET /posts/validate` for an id.
 */
export function fixedPaths(prefix: string, routes: readonly Route[]): Middleware {
  const fixed = routes.filter(({ path }) => !path.includes('{'));
  const methodsOf = new Map(
    [...Map.groupBy(fixed, ({ path }) => prefix + path)].map(([path, calls]) => [
      path,
      calls.flatMap(({ method }) => (method === 'get' ? ['HEAD', 'GET'] : [method.toUpperCase()])),
    ]),
  );
  return async (ctx, next) => {
    const methods = methodsOf.get(ctx.path);
    if (methods && ctx.method !== 'OPTIONS' && !methods.includes(ctx.method)) {
      ctx.set('Allow', methods.join(', '));
      throw new AppError(
        'method_not_allowed',
        `${ctx.path} does not take ${ctx.method}; see Allow.`,
      );
    }

    await next();
  };
}
