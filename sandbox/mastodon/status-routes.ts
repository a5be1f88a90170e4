import type { Router } from '@koa/router';
import { readBody } from '../body.ts';
import { cutConnection } from '../cut-connection.ts';
import type { MastodonPost } from '../post.ts';
import { contextOf } from '../threads.ts';
import { requireToken, requireTokenIfAny } from './authentication.ts';
import { createStatus, statusesOf } from './create-status.ts';
import type { MastodonDeps } from './deps.ts';
import { notFound } from './not-found.ts';
import { baseOf, statusPresenter } from './present.ts';

export function addStatusRoutes(router: Router, deps: MastodonDeps): void {
  const { store } = deps;

  router.post('/v1/statuses', requireToken, async (ctx) => {
    const key = ctx.get('idempotency-key') || null;
    const { status, isLost } = await createStatus(deps, await readBody(ctx.req), key);
    if (isLost) {
      cutConnection(ctx);
    } else {
      ctx.body = statusPresenter(baseOf(ctx), statusesOf(store.all()))(status);
    }
  });

  router.get('/v1/statuses/:id', requireTokenIfAny, (ctx) => {
    const status = findStatus(deps, ctx.params.id);
    ctx.body = statusPresenter(baseOf(ctx), statusesOf(store.all()))(status);
  });

  router.get('/v1/statuses/:id/source', requireToken, (ctx) => {
    const { id, text } = findStatus(deps, ctx.params.id);
    ctx.body = { id, text, spoiler_text: '' };
  });

  router.get('/v1/statuses/:id/context', requireTokenIfAny, (ctx) => {
    const statuses = statusesOf(store.all());
    const { ancestors, descendants } = contextOf(statuses, findStatus(deps, ctx.params.id));
    const present = statusPresenter(baseOf(ctx), statuses);
    ctx.body = {
      ancestors: statusesOf(ancestors).map(present),
      descendants: statusesOf(descendants).map(present),
    };
  });
}

function findStatus({ store }: MastodonDeps, id: string | undefined): MastodonPost {
  const post = store.find('mastodon', id ?? '');
  if (post?.network !== 'mastodon') {
    throw notFound();
  }
  return post;
}
