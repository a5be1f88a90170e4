import { Router, type RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.ts';
import { parser } from '../../runtime/parser.ts';
import type { Admission } from './admission.ts';
import { isId } from '../../domain/is-id.ts';
import { readBody, readNoBody } from './read-body.ts';
import { readMultipart } from './read-multipart.ts';
import { queryReader } from './read-query.ts';
import type { Route } from './route.ts';

/** Path prefix of all routes. */
const prefix = '/api/v1';

export type MountDeps = {
  readonly admit: Admission;
  /** Time limit for a JSON body, in milliseconds. */
  readonly bodyMs: number;
};

/** Builds a router that authenticates, validates the request and runs the use case. */
export function mount(routes: readonly Route[], deps: MountDeps): Router {
  const router = new Router({ prefix, sensitive: true, strict: true });
  for (const route of routes) {
    const handler = handlerOf(route, deps);
    router[route.method](route.path.replaceAll(/\{(?<name>\w+)\}/gv, ':$<name>'), handler);
  }

  return router;
}

function handlerOf(route: Route, { admit, bodyMs }: MountDeps) {
  const readQuery = queryReader(route.query);
  const body = bodyReader(route, bodyMs);
  return async (ctx: RouterContext): Promise<void> => {
    ctx.set('Cache-Control', 'no-store'); // Responses, also refusals, are for this key only and may contain secrets.
    const caller = await admit(ctx, route.method !== 'get' && route.isReadOnly !== true);
    const params = ids(ctx.params);
    const query = readQuery(ctx.query);
    const header = (name: string): string | undefined =>
      name in ctx.request.headers ? ctx.request.get(name) : undefined;
    const answer = await route.handle({
      caller,
      params,
      query,
      body: await body(ctx),
      header,
      readMultipart: (options) => readMultipart(ctx, options),
      clientSignal: () => clientSignalOf(ctx.res),
    });
    ctx.status = answer.status;
    ctx.set(answer.headers ?? {});
    ctx.body = answer.body;
  };
}

/** Aborts when the client hangs up before its response is sent. */
export function clientSignalOf(response: RouterContext['res']): AbortSignal {
  const left = new AbortController();
  const onClose = (): void => {
    if (!response.writableFinished) {
      left.abort(new AppError('invalid_request', 'The client hung up.')); // Not logged as a failure.
    }
  };
  if (response.closed) {
    onClose(); // The client hung up before this call.
  }

  response.once('close', onClose);
  return left.signal;
}

/** Selects how the body of a route is read and validated. */
function bodyReader(
  { method, body, bodyKind }: Route,
  withinMs: number,
): (ctx: RouterContext) => Promise<unknown> {
  if (body === undefined || bodyKind === 'multipart') {
    return async (ctx) =>
      method === 'post' && body === undefined ? readNoBody(ctx, withinMs) : undefined;
  }

  const parse = parser(body);
  return async (ctx) => parse(await readBody(ctx, withinMs));
}

/** Treats a malformed id like an unknown one. @throws AppError `not_found` */
function ids(params: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || !isId(value)) {
      throw new AppError('not_found', `There is nothing with the id "${value}".`);
    }

    checked[name] = value;
  }

  return checked;
}

/**
 * Answers unsupported methods of paths without parameters, with 405 or to OPTIONS. The router alone would match
 * `validate` in `/posts/validate` as an id.
 */
export function fixedPaths(routes: readonly Route[]): Middleware {
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
        `${ctx.path} does not support ${ctx.method}; see Allow.`,
      );
    }

    ctx.status = 200;
    ctx.body = '';
  };
}
