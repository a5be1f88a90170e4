import type { Router } from '@koa/router';
import { mastodonAccount } from '../accounts.ts';
import type { SandboxDeps } from '../deps.ts';
import { requireToken, requireTokenIfAny } from './authentication.ts';
import { statusesOf } from './create-status.ts';
import { listStatuses } from './list-statuses.ts';
import { notFound } from './not-found.ts';
import { baseOf, presentAccount, statusPresenter } from './present.ts';

export function addAccountRoutes(router: Router, { store }: SandboxDeps): void {
  router.get('/v1/accounts/verify_credentials', requireToken, (ctx) => {
    const source = { note: '', fields: [], privacy: 'public', sensitive: false, language: null };
    ctx.body = { ...presentAccount(baseOf(ctx), statusesOf(store.all()).length), source };
  });

  router.get('/v1/accounts/:id', requireTokenIfAny, (ctx) => {
    assertDemo(ctx.params.id);
    ctx.body = presentAccount(baseOf(ctx), statusesOf(store.all()).length);
  });

  router.get('/v1/accounts/:id/statuses', requireTokenIfAny, (ctx) => {
    assertDemo(ctx.params.id);
    const own = statusesOf(store.all());
    const { statuses, link } = listStatuses(own, new URL(ctx.href));
    if (link !== undefined) {
      ctx.set('link', link);
    }
    ctx.body = statuses.map(statusPresenter(baseOf(ctx), own));
  });
}

function assertDemo(id: string | undefined): void {
  if (id !== mastodonAccount.id) {
    throw notFound();
  }
}
