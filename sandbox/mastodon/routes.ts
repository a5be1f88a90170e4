import { Router } from '@koa/router';
import type { SandboxDeps } from '../deps.ts';
import { addAccountRoutes } from './account-routes.ts';
import { answerErrors } from './authentication.ts';
import { notFound } from './not-found.ts';
import { baseOf, presentInstance } from './present.ts';
import { createAttachments } from './attachments.ts';
import { addMediaRoutes } from './media-routes.ts';
import { addStatusRoutes } from './status-routes.ts';

/** As much of Mastodon's API as it takes to publish and to look at what was published. */
export function mastodonRoutes(shared: SandboxDeps): Router {
  const deps = { ...shared, attachments: createAttachments(shared.files, shared.now) };
  const router = new Router({ prefix: '/mastodon/api' });
  router.use(answerErrors);
  router.get('/v2/instance', (ctx) => {
    ctx.body = presentInstance(baseOf(ctx));
  });
  addAccountRoutes(router, deps);
  addMediaRoutes(router, deps);
  addStatusRoutes(router, deps);
  router.all('/{*path}', () => {
    throw notFound();
  });
  return router;
}
