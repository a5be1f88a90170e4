import { Router } from '@koa/router';
import type { Context } from 'koa';
import { accountNames, type AccountName } from '../account-name.ts';
import { readRequestBody, readFormFile } from '../body.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import type { SandboxDeps } from '../deps.ts';
import { accessIn } from '../oauth/access.ts';
import { isBy } from '../post.ts';
import { alteredText, type Store } from '../store.ts';
import { threadContextOf } from '../threads.ts';
import { createAttachments } from './attachments.ts';
import { accounts } from './account.ts';
import { createStatus, statusesOf } from './create-status.ts';
import type { MastodonDeps } from './deps.ts';
import { answerMastodonErrors, guardsOf, type Guards } from './guards.ts';
import { listStatuses } from './list-statuses.ts';
import { mastodonOauthRoutes } from './oauth.ts';
import { notFound } from './not-found.ts';
import { isStatus, type Status } from './post.ts';
import {
  baseOf,
  presentAccount,
  presentAttachment,
  presentInstance,
  statusPresenter,
} from './present.ts';

/** The parts of Mastodon's API that publishing and reading back need. */
export function mastodonRoutes(shared: SandboxDeps): Router {
  const deps = { ...shared, attachments: createAttachments(shared) };
  const router = new Router({ prefix: '/mastodon/api' });
  router.use(answerMastodonErrors);
  const guards = guardsOf(shared);
  router.get('/v2/instance', (ctx) => {
    ctx.body = presentInstance(baseOf(ctx));
  });
  addAccountRoutes(router, deps, guards);
  addMediaRoutes(router, deps, guards);
  addStatusRoutes(router, deps, guards);
  router.all('/{*path}', () => {
    throw notFound();
  });
  const all = new Router();
  all.use(mastodonOauthRoutes(shared).routes());
  all.use(router.routes());
  return all;
}

function addAccountRoutes(
  router: Router,
  { store, figures }: SandboxDeps,
  { requireToken, requireTokenIfAny }: Guards,
): void {
  const present = (ctx: Context, name: AccountName) =>
    presentAccount(baseOf(ctx), name, {
      statuses: statusesOf(store.all()).filter(isBy(name)).length,
      followers: figures.followers('mastodon') ?? 0,
    });

  router.get('/v1/accounts/verify_credentials', requireToken('read:accounts'), (ctx) => {
    const { account } = accessIn(ctx);
    const source = { note: '', fields: [], privacy: 'public', sensitive: false, language: null };
    ctx.body = { ...present(ctx, account), source };
  });

  router.get('/v1/accounts/:id', requireTokenIfAny('read:accounts'), (ctx) => {
    ctx.body = present(ctx, accountOf(ctx.params.id));
  });

  router.get('/v1/accounts/:id/statuses', requireTokenIfAny('read:statuses'), (ctx) => {
    const own = statusesOf(store.all()).filter(isBy(accountOf(ctx.params.id)));
    const shown = own.filter((status) => !store.isHidden(status));
    const { statuses, link } = listStatuses(shown, new URL(ctx.href), store.isAltered);
    if (link !== undefined) {
      ctx.set('link', link);
    }
    const presentStatus = statusPresenter(baseOf(ctx), statusesOf(store.all()), figures);
    ctx.body = statuses.map((status) => presentStatus(asShown(store, status)));
  });
}

/** @throws Refusal 404 */
function accountOf(id: string | undefined): AccountName {
  const found = accountNames.find((name) => accounts[name].id === id);
  if (found === undefined) {
    throw notFound();
  }
  return found;
}

function addStatusRoutes(
  router: Router,
  deps: MastodonDeps,
  { requireToken, requireTokenIfAny }: Guards,
): void {
  const { store, figures } = deps;

  router.post('/v1/statuses', requireToken('write:statuses'), async (ctx) => {
    const key = ctx.get('idempotency-key') || null;
    const fields = await readRequestBody(ctx.req);
    const { status, answer } = await createStatus(deps, fields, key, accessIn(ctx));
    if (answer === 'none') {
      cutConnection(ctx);
    } else if (answer === 'error') {
      throw new Refusal(500, 'We are sorry, but something went wrong on our end.');
    } else {
      ctx.body = statusPresenter(baseOf(ctx), statusesOf(store.all()), figures)(status);
    }
  });

  router.get('/v1/statuses/:id', requireTokenIfAny('read:statuses'), (ctx) => {
    const status = findStatus(deps, ctx.params.id);
    ctx.body = statusPresenter(baseOf(ctx), statusesOf(store.all()), figures)(status);
  });

  router.delete('/v1/statuses/:id', requireToken('write:statuses'), async (ctx) => {
    const status = store.find('mastodon', ctx.params.id ?? '');
    if (!isStatus(status) || !isBy(accessIn(ctx).account)(status)) {
      throw notFound();
    }
    const { id, text, spoilerText = '' } = status;
    const shown = statusPresenter(baseOf(ctx), statusesOf(store.all()), figures)(status);
    await store.remove(status);
    ctx.body = { ...shown, id, text, spoiler_text: spoilerText };
  });

  router.get('/v1/statuses/:id/source', requireToken('read:statuses'), (ctx) => {
    const status = findStatus(deps, ctx.params.id);
    const { id, text, spoilerText = '' } = status;
    if (!isBy(accessIn(ctx).account)(status)) {
      throw notFound();
    }
    ctx.body = { id, text, spoiler_text: spoilerText };
  });

  router.get('/v1/statuses/:id/context', requireTokenIfAny('read:statuses'), (ctx) => {
    const statuses = statusesOf(store.all());
    const { ancestors, descendants } = threadContextOf(statuses, findStatus(deps, ctx.params.id));
    const present = statusPresenter(baseOf(ctx), statuses, figures);
    ctx.body = {
      ancestors: statusesOf(ancestors).map(present),
      descendants: statusesOf(descendants).map(present),
    };
  });
}

function findStatus({ store }: MastodonDeps, id: string | undefined): Status {
  const post = store.find('mastodon', id ?? '');
  if (!isStatus(post) || store.isHidden(post)) {
    throw notFound();
  }
  return asShown(store, post);
}

const asShown = ({ isAltered }: Pick<Store, 'isAltered'>, status: Status): Status =>
  isAltered(status) ? { ...status, text: alteredText, spoilerText: '' } : status;

/** Clients upload files before their statuses. */
function addMediaRoutes(
  router: Router,
  { attachments }: MastodonDeps,
  { requireToken }: Guards,
): void {
  for (const version of ['v1', 'v2']) {
    router.post(`/${version}/media`, requireToken('write:media'), async (ctx) => {
      const file = await readFormFile(ctx.req);
      if (file === null) {
        throw new Refusal(422, "Validation failed: File can't be blank");
      }
      const attachment = await attachments.add(file.bytes, file.description);
      const isReady = attachments.isReady(attachment.id);
      ctx.status = isReady ? 200 : 202;
      ctx.body = presentAttachment(attachment, baseOf(ctx), isReady);
    });
  }

  router.get('/v1/media/:id', requireToken('write:media'), (ctx) => {
    const attachment = attachments.find(ctx.params.id ?? '');
    if (attachment === undefined) {
      throw notFound();
    }
    const isReady = attachments.poll(attachment.id);
    ctx.status = isReady ? 200 : 206;
    ctx.body = presentAttachment(attachment, baseOf(ctx), isReady);
  });
}
