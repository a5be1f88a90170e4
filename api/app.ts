import Koa from 'koa';
import { analyticsRoutes } from './analytics/routes.ts';
import { channelRoutes } from './channels/routes.ts';
import type { ApiDeps } from './deps.ts';
import { docsRouter } from './docs/routes.ts';
import { healthRouter } from './health/routes.ts';
import { answerErrors } from './http/answer-errors.ts';
import { cutSlowReaders } from './http/cut-slow-readers.ts';
import { fixedPaths } from './http/fixed-paths.ts';
import { leaveRest } from './http/leave-rest.ts';
import { mount, prefix } from './http/mount.ts';
import { readableTarget } from './http/readable-target.ts';
import { requestId } from './http/request-id.ts';
import type { Route } from './http/route.ts';
import { meRoutes } from './me/routes.ts';
import { mediaRoutes } from './media/routes.ts';
import { filesRouter } from './media/serve-files.ts';
import { openapiRouter } from './openapi/routes.ts';
import { postRoutes } from './posts/routes.ts';
import { boundAddresses } from './rate-limits/crowd.ts';
import { deliveryRoutes } from './webhooks/delivery-routes.ts';
import { endpointRoutes } from './webhooks/endpoint-routes.ts';

/** Every call of the API. */
export const allRoutes = (deps: ApiDeps): Route[] => [
  ...meRoutes(deps),
  ...channelRoutes(deps),
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
    healthRouter(deps),
    openapiRouter(routes),
    docsRouter(),
  ];
  app
    .use(requestId)
    .use(leaveRest)
    .use(cutSlowReaders(deps.readers))
    .use(answerErrors(deps.log))
    .use(readableTarget)
    .use(boundAddresses(deps.mostPerAddress))
    .use(fixedPaths(prefix, routes));
  for (const router of routers) {
    app.use(router.routes()).use(router.allowedMethods());
  }

  // What reaches this is a failure of the answer itself, such as a client that hung up.
  app.on('error', (error: Error) =>
    deps.log.debug({ name: error.name }, 'an answer was not taken'),
  );
  return app;
}
