import { once } from 'node:events';
import { Router, type RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import { assertScope, reaches } from '../../domain/api-keys.ts';
import { AppError } from '../../domain/errors.ts';
import { isId, withLowerIds } from '../../domain/json-schema.ts';
import { parser } from '../../runtime/parser.ts';
import { assertReachesChannel } from '../../services/keys/channel-restriction.ts';
import { assertReachesStored } from '../../services/posts/read-posts.ts';
import type { Caller } from '../../services/context.ts';
import type { ServiceDeps } from '../../services/deps.ts';
import type { ApiDeps } from '../deps.ts';
import { assertNoBody, readBody, refuseNoBody } from './read-body.ts';
import { readMultipart } from './read-multipart.ts';
import { queryReader } from './read-query.ts';
import type { Answer, Request, Route } from './route.ts';

const prefix = '/api/v1';

/** Builds a router that authenticates, validates the request and runs the use case. */
export function mount(routes: readonly Route[], deps: ApiDeps): Router {
  const router = new Router({ prefix, sensitive: true, strict: true });
  for (const route of routes) {
    const handler = handlerOf(route, deps);
    router[route.method](route.path.replaceAll(/\{(?<name>\w+)\}/gv, ':$<name>'), handler);
  }

  return router;
}

function handlerOf(route: Route, deps: ApiDeps) {
  const { admission, orm } = deps;
  const readQuery = queryReader(route.query, route.body);
  const body = bodyReader(route);
  return async (ctx: RouterContext): Promise<void> => {
    ctx.set('Cache-Control', 'no-store'); // Responses, also refusals, are for this key only and may contain secrets.
    const isWrite = route.method !== 'get' && route.isReadOnly !== true;
    const { isForOperators } = route;
    const waits = route.mayWait === true && 'wait' in ctx.query;
    // Or an operator, as `route` types it.
    let caller = (await admission.admit(ctx, isWrite, { waits, isForOperators })) as Caller;
    assertMayCall(caller, route);
    const params = ids(ctx.params, route);
    const query = readQuery(ctx.query, ctx.querystring);
    const wasComplete = ctx.req.complete;
    const onLarge = isForOperators
      ? undefined
      : () => admission.holdLargeBody(ctx, caller.workspaceId);
    const given = await body.read(ctx, { onLarge });
    if (!wasComplete && ctx.req.complete) {
      caller = await admission.readAgain(caller); // Its key may have ended while the body came.
      assertMayCall(caller, route);
    }

    const header = (name: string): string | undefined =>
      name in ctx.request.headers ? ctx.request.get(name) : undefined;
    const assertStillAllowed = async (): Promise<void> => {
      const now = await admission.readAgain(caller);
      assertMayCall(now, route);
      assertSameReach(caller, now);
    };
    const asked = performance.now();
    const handle = async (): Promise<Answer> => {
      if (performance.now() - asked > shortWaitMs) {
        await assertStillAllowed(); // The key may have ended meanwhile.
      }

      await assertReachable({ orm }, caller, route, params);
      const request: Request = {
        caller,
        params,
        query,
        body: body.parse(given()),
        header,
        readMultipart: (options) => readMultipart(ctx, options),
        clientSignal: () => clientSignalOf(ctx.res),
        assertStillAllowed,
      };
      return route.handle(request, deps);
    };
    const answer = await (takesTurn(route) ? inTurn(deps, caller, ctx, handle) : handle());
    ctx.status = answer.status;
    ctx.set(answer.headers ?? {});
    ctx.body = answer.body;
  };
}

/** Reads may return megabytes, and changes wait for locks. `/networks` is small, and a tool reads it within a turn. */
const takesTurn = ({ path, isForOperators, bodyKind }: Route): boolean =>
  isForOperators !== true && bodyKind !== 'multipart' && path !== '/networks';

function assertMayCall(caller: Pick<Caller, 'scopes'>, { scope }: Route): void {
  if (scope !== null) {
    assertScope(caller, scope);
  }
}

/** Keeps a key that is restricted to some channels from others and from their posts, whatever the call. */
async function assertReachable(
  { orm }: Pick<ServiceDeps, 'orm'>,
  caller: Caller,
  { method, path }: Route,
  { id = '', post_id: ofPost }: Readonly<Record<string, string>>,
): Promise<void> {
  if (caller.channelIds === null) {
    return;
  }

  if (path.startsWith('/channels/{id}')) {
    assertReachesChannel(caller, id);
  }

  const postId = path.startsWith('/posts/{id}') ? id : ofPost;
  if (postId !== undefined) {
    const to = method === 'get' ? 'read' : 'change';
    await assertReachesStored(orm.em.fork(), caller, postId, to);
  }
}

/** @throws AppError `unauthorized` when the key was restricted to other channels meanwhile. */
function assertSameReach({ channelIds: before }: Caller, now: Caller): void {
  if (now.channelIds !== null && !before?.every((id) => reaches(now, id))) {
    throw new AppError('unauthorized', 'The channels of this API key changed during this call.');
  }
}

/** In milliseconds. A call that waits longer for its turn reads the rights of its key again. */
const shortWaitMs = 100;

/** A turn lasts until the answer is sent, since an answer with whole posts takes megabytes of memory. */
async function inTurn(
  { admission }: ApiDeps,
  caller: Caller,
  ctx: RouterContext,
  handle: () => Promise<Answer>,
): Promise<Answer> {
  if (ctx.query['format'] === 'csv') {
    admission.holdExport(ctx, caller.workspaceId); // Its client may read for hours.
    return handle();
  }

  await untilFirst(ctx.res);
  // The call of a tool ends with the answer to its MCP client.
  const { client = ctx.res } = (ctx.res.socket ?? {}) as { readonly client?: typeof ctx.res };
  const sent = client.closed ? Promise.resolve() : new Promise((end) => client.once('close', end));
  const answer = { sent, disconnect: () => client.destroy() };
  return admission.inTurn(caller, clientSignalOf(ctx.res), handle, answer);
}

/** The answer of a pipelined call is sent after those of the earlier calls of its connection, which need turns too. */
export async function untilFirst(response: RouterContext['res']): Promise<void> {
  if (response.socket === null && !response.closed) {
    await once(response, 'socket');
  }
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

type BodyReader = {
  readonly read: typeof readBody;
  readonly parse: (given: unknown) => unknown;
};

/** Selects how the body of a route is read, and how it is validated afterwards. */
function bodyReader({ method, body, bodyKind, isBodyOptional, query = {} }: Route): BodyReader {
  if (bodyKind === 'multipart' || (body === undefined && method === 'get')) {
    return { read: () => Promise.resolve(() => undefined), parse: () => undefined };
  }

  if (body === undefined) {
    return { read: readBody, parse: (given) => assertNoBody(given, query) };
  }

  const parse = parser(body);
  return {
    read: readBody,
    // An optional body may be empty, but JSON's `null` is a body of the wrong type.
    parse: (given) => {
      if (given === undefined) {
        return isBodyOptional ? parse({}) : refuseNoBody(body);
      }

      return parse(withLowerIds(given));
    },
  };
}

/** Treats a malformed id like an unknown one. @throws AppError `not_found` */
function ids(
  params: Readonly<Record<string, string | undefined>>,
  { path }: Pick<Route, 'path'>,
): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    const id = value?.toLowerCase();
    if (id === undefined || !isId(id)) {
      const isSearch = path === '/posts/{id}' && value === 'search';
      const next = isSearch ? ' Send GET /api/v1/posts with q to search.' : '';
      throw new AppError('not_found', `There is nothing with the id "${value}".${next}`);
    }

    checked[name] = id;
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
    ctx.status = ctx.method === 'OPTIONS' ? 200 : 405; // `answerErrors` describes the latter.
    ctx.body = '';
  };
}
