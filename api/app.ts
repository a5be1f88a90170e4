import { IncomingMessage, createServer, type Server } from 'node:http';
import { finished } from 'node:stream/promises';
import Koa, { type Middleware } from 'koa';
import { AppError } from '../domain/errors.ts';
import { createGrowingBuffer, isFragmented } from '../runtime/bytes.ts';
import type { Config } from '../runtime/config/read-config.ts';
import { version } from '../runtime/version.ts';
import { analyticsRoutes } from './analytics/routes.ts';
import { auditRoutes } from './audit/routes.ts';
import { channelRoutes } from './channels/routes.ts';
import { connectPages } from './connect/pages/router.ts';
import { clientMetadataRouter, connectRoutes } from './connect/routes.ts';
import type { ApiDeps } from './deps.ts';
import { docsRouter } from './docs/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { healthRouter } from './health/routes.ts';
import { answerBroken, answerErrors, failureLog, resetBroken } from './http/errors.ts';
import { logRequests } from './http/log-requests.ts';
import { fixedPaths, mount } from './http/mount.ts';
import type { Route } from './http/route.ts';
import { unroutedBy } from './http/unrouted.ts';
import { keyRoutes } from './keys/routes.ts';
import { mcpRouter } from './mcp/routes.ts';
import { mediaRoutes } from './media/routes.ts';
import { filesRouter } from './media/serve-files.ts';
import { networkRoutes } from './networks/routes.ts';
import { createDocument, openAnswers, openapiRouter } from './openapi/document.ts';
import { postRoutes } from './posts/routes.ts';
import { webhookRoutes } from './webhooks/routes.ts';
import { workspaceRoutes } from './workspace/routes.ts';
import { operatorRoutes } from './workspaces/routes.ts';

export const allRoutes: readonly Route[] = [
  ...workspaceRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...channelRoutes,
  ...connectRoutes,
  ...networkRoutes,
  ...postRoutes,
  ...mediaRoutes,
  ...analyticsRoutes,
  ...webhookRoutes,
  ...eventRoutes,
  ...operatorRoutes,
];

export function createApp(deps: ApiDeps): Koa {
  const { trustedProxies } = deps;
  const app = new Koa({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies });
  const logFailure = failureLog(deps.log);
  const document = openAnswers(createDocument(allRoutes));
  const routers = [
    mount(allRoutes, deps),
    filesRouter(deps),
    clientMetadataRouter(deps),
    connectPages({ ...deps, logFailure }),
    healthRouter(deps),
    openapiRouter(document),
    docsRouter(document),
    mcpRouter(deps, () => app.callback()),
  ];
  app
    .use(limitPipelined)
    // For clients that read nothing of their answer.
    .use(({ res }, next) => next().then(() => void res.setTimeout(deps.media.stallMs)))
    .use(requestId)
    .use(logRequests(deps.log))
    .use(drainUnreadBody)
    .use(answerErrors(logFailure, unroutedBy(allRoutes)))
    .use(resetBroken(logFailure))
    .use(readableHead)
    .use(fixedPaths(allRoutes));
  for (const router of routers) {
    app.use(router.routes()).use(router.allowedMethods());
  }

  // These errors come from sending the response, such as a client that hung up.
  app.on('error', (error: Error) => deps.log.debug({ name: error.name }, 'response not delivered'));
  return app;
}

/** Most unanswered requests of a connection, headers, and query parameters, for which Koa takes quadratic time. */
const [mostPipelined, mostHeaders, mostParameters] = [4, 100, 100];
const unanswered = new WeakMap<object, number>();

const limitPipelined: Middleware = async ({ req: { socket }, res }, next) => {
  const count = (change: number) => (unanswered.get(socket) ?? 0) + change;
  unanswered.set(socket, count(1));
  res.once('close', () => unanswered.set(socket, count(-1)));
  await (count(0) > mostPipelined ? socket.destroy() : next());
};

/** Assigns a request id, or keeps a valid one of the caller, and returns it. */
const requestId: Middleware = async (ctx, next) => {
  const given = ctx.get('X-Request-Id');
  const id = /^[\w.:\-]{1,100}$/v.test(given) ? given : crypto.randomUUID();
  ctx.state['requestId'] = id;
  ctx.set('X-Request-Id', id);
  await next();
};

/** How long a client may keep sending after its response, in milliseconds. Many clients read it only then. */
const lingerMs = 5000;

/** Otherwise a request that was answered early stays open as long as an upload may take. */
const drainUnreadBody: Middleware = async ({ req, res }, next) => {
  const drain = () => finished(req.resume(), { signal: AbortSignal.timeout(lingerMs) });
  res.once('finish', () => req.complete || drain().catch(() => req.destroy()));
  await next();
  // Node closes such a connection with the answer, and the reset discards it at a client that still sends.
  if (!res.shouldKeepAlive && !req.complete) {
    await drain().catch(() => undefined);
  }
};

/** Refuses an invalid URL (`GET http://[::1/`), since Koa's getters throw on it, and too many headers or parameters. */
const readableHead: Middleware = async (ctx, next) => {
  const { url = '/', rawHeaders } = ctx.req;
  if (rawHeaders.length > 2 * mostHeaders) {
    throw new AppError('invalid_request', `A request may have ${mostHeaders} headers.`);
  }

  if (url.split('&').length > mostParameters) {
    throw new AppError('invalid_request', `A query may have ${mostParameters} parameters.`);
  }

  if (!/^[\/*]/v.test(url) && !URL.canParse(url)) {
    ctx.req.url = '/'; // Koa reads it again for the response.
    throw new AppError('invalid_request', 'The address of the request is not a URL.');
  }

  await next();
};

/** In milliseconds. Longer than at load balancers (60 s): a call on a connection that just closes has no outcome. */
const idleMs = 75_000;

/** Shutdown limit in milliseconds; then open connections are closed. */
const longestGoodbyeMs = 10_000;

/** Listens; exits the process when that fails. @returns a function that ends when open requests are answered. */
export function serve(deps: ApiDeps, { host, port }: Config): () => Promise<void> {
  const { log } = deps;
  const server = createHttpServer(deps).listen(port, host, () => {
    const bound = server.address();
    const chosen = typeof bound === 'object' && bound ? bound.port : port;
    log.info({ version, address: `http://${host}:${chosen}` }, 'listening');
  });
  server.on('error', (error) => {
    log.fatal(
      `cannot listen on ${host}:${port} (${error.message}): set HOST and PORT to a free address`,
    );
    process.exit(1);
  });
  return async () => {
    // Otherwise a program that waits for events calls again on its kept connection, thousands of times in 10 s.
    server.prependListener('request', (_, answer) => answer.setHeader('Connection', 'close'));
    deps.stopping.abort();
    setTimeout(() => server.closeAllConnections(), longestGoodbyeMs).unref();
    await new Promise((resolve) => server.close(resolve));
  };
}

/** Limit of a request and of its answer, in milliseconds: 200 MB over a slow line, and a download by URL, take long. */
const longestMs = 30 * 60_000;

/** Keeps one process below the usual limits of open files and memory. */
const mostConnections = 4096;

/** How long headers may take, in milliseconds; Node looks every 30 s. Silent clients must not hold all connections. */
const longestHeadersMs = 10_000;

export function createHttpServer(deps: ApiDeps): Server {
  const server = createServer({ IncomingMessage: JoinedRequest }, createApp(deps).callback());
  server.maxConnections = mostConnections;
  server.maxHeadersCount = mostHeaders + 1; // Node drops the others.
  server.keepAliveTimeout = idleMs;
  server.headersTimeout = longestHeadersMs;
  server.requestTimeout = longestMs;
  server.timeout = longestMs;
  return server.on('clientError', answerBroken);
}

/** More tiny chunks end a request: 400 bodies of one-byte chunks, sent without a key, delayed all calls by 40 s. */
const mostTinyChunks = 4096;

/**
 * A request that joins the chunks of its body until they are read. Node keeps an object for each: a thousand requests
 * of 100 kB in chunks of four bytes filled a gigabyte while their keys were looked up.
 */
export class JoinedRequest extends IncomingMessage {
  #unread = createGrowingBuffer();
  #isReading = false;
  #chunks = 0;
  #length = 0;

  /** @returns false when the connection has to wait for the reader. */
  override push(chunk: Buffer | null): boolean {
    this.#chunks += 1;
    this.#length += chunk?.length ?? 0;
    if (this.destroyed || isFragmented(this.#chunks, this.#length, mostTinyChunks)) {
      this.destroy();
      return false;
    }

    if (chunk !== null && !this.#isReading) {
      this.#unread.append(chunk);
      return this.#unread.length < this.readableHighWaterMark;
    }

    if (chunk === null) {
      this.#pushUnread();
    }

    this.#isReading = false;
    return super.push(chunk);
  }

  /** Node drops the rest of an answered body here, but then its chunks would not be counted. */
  _dump(): void {
    this.resume();
  }

  override _read(size: number): void {
    this.#isReading = !this.#pushUnread();
    super._read(size); // oxlint-disable-line no-underscore-dangle -- The contract of streams.
  }

  #pushUnread(): boolean {
    const unread = this.#unread.bytes();
    if (unread.length > 0) {
      this.#unread = createGrowingBuffer();
      super.push(unread);
    }

    return unread.length > 0;
  }
}
