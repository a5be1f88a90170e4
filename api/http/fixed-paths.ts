import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';
import type { Route } from './route.ts';

/**
 * Tells whoever asks a path without parameters in a way that it does not take which ways it does: by 405, or in the
 * answer to OPTIONS. The router alone would take the last word of `GET /posts/validate` for an id.
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
    if (!methods || methods.includes(ctx.method)) {
      await next();
      return;
    }

    ctx.set('Allow', methods.join(', '));
    if (ctx.method !== 'OPTIONS') {
      throw new AppError(
        'method_not_allowed',
        `${ctx.path} does not take ${ctx.method}; see Allow.`,
      );
    }

    ctx.status = 200;
    ctx.body = '';
  };
}
