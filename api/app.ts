import Koa, { type Middleware } from 'koa';
import { AppError } from '../domain/errors.ts';
import { analyticsRoutes } from './analytics/routes.ts';
import { channelRoutes } from './channels/routes.ts';
import { clientMetadataRouter } from './connect/client-metadata.ts';
import { connectPages } from './connect/pages/router.ts';
import { connectRoutes } from './connect/routes.ts';
import type { ApiDeps } from './deps.ts';
import { docsRouter } from './docs/routes.ts';
import { healthRouter } from './health/routes.ts';
import { resetBroken } from './http/broken-bodies.ts';
import { answerErrors } from './http/errors.ts';
import { fixedPaths, mount } from './http/mount.ts';
import type { Route } from './http/route.ts';
import { disconnectSlowReaders, drainUnreadBody } from './http/slow-clients.ts';
import { meRoutes } from './me/routes.ts';
import { mediaRoutes } from './media/routes.ts';
import { filesRouter } from './media/serve-files.ts';
import { networkRoutes } from './networks/routes.ts';
import { openapiRouter } from './openapi/document.ts';
import { postRoutes } from './posts/routes.ts';
import { limitRequestsPerAddress } from './rate-limits/concurrency-limit.ts';
import { deliveryRoutes } from './webhooks/delivery-routes.ts';
import { endpointRoutes } from './webhooks/endpoint-routes.ts';

/** All routes of the API. */
export const allRoutes = (deps: ApiDeps): Route[] => [
  ...meRoutes(deps),
  ...channelRoutes(deps),
  ...connectRoutes(deps),
  ...networkRoutes(deps),
  ...postRoutes(deps),
  ...mediaRoutes(deps),
  ...analyticsRoutes(deps),
  ...endpointRoutes(deps),
  ...deliveryRoutes(deps),
];

export function createApp(deps: ApiDeps): Koa {
  const { trustedProxies } = deps;
  const app = new Koa({ proxy: trustedProxies > 0, maxIpsCount: trustedProxies });
  const routes = allRoutes(deps);
  const routers = [
    mount(routes, deps),
    filesRouter(deps),
    clientMetadataRouter(deps),
    connectPages(deps),
    healthRouter(deps),
    openapiRouter(routes),
    docsRouter(),
  ];
  app
    .use(requestId)
    .use(drainUnreadBody)
    .use(disconnectSlowReaders(deps.readers))
    .use(answerErrors(deps.log))
    .use(resetBroken(deps.log))
    .use(readableTarget)
    .use(limitRequestsPerAddress(deps.mostPerAddress))
    .use(fixedPaths(routes));
  for (const router of routers) {
    app.use(router.routes()).use(router.allowedMethods());
  }

  // These errors come from sending the response, such as a client that hung up.
  app.on('error', (error: Error) => deps.log.debug({ name: error.name }, 'response not delivered'));
  return app;
}

/** Assigns a request id, or keeps a valid one of the caller, and returns it. */
const requestId: Middleware = async (ctx, next) => {
  const given = ctx.get('X-Request-Id');
  const id = /^[\w.:\-]{1,100}$/v.test(given) ? given : crypto.randomUUID();
  ctx.state['requestId'] = id;
  ctx.set('X-Request-Id', id);
  await next();
};

/** Refuses an invalid URL (`GET http://[::1/`). Koa's getters throw on it. */
const readableTarget: Middleware = async (ctx, next) => {
  const { url = '/' } = ctx.req;
  if (!/^[\/*]/v.test(url) && !URL.canParse(url)) {
    ctx.req.url = '/'; // Koa reads it again for the response.
    throw new AppError('invalid_request', 'The address of the request is not a URL.');
  }

  await next();
};
