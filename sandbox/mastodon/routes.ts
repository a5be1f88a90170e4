import { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { mastodonAccount } from '../accounts.ts';
import { readBody, readFormFile } from '../body.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import type { SandboxDeps } from '../deps.ts';
import type { Attachment, MastodonPost } from '../post.ts';
import { contextOf } from '../threads.ts';
import { createAttachments } from './attachments.ts';
import { createStatus, statusesOf } from './create-status.ts';
import type { MastodonDeps } from './deps.ts';
import { listStatuses } from './list-statuses.ts';
import { notFound } from './not-found.ts';
import {
  baseOf,
  presentAccount,
  presentAttachment,
  presentInstance,
  statusPresenter,
} from './present.ts';

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

function addAccountRoutes(router: Router, { store }: SandboxDeps): void {
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

function addStatusRoutes(router: Router, deps: MastodonDeps): void {
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

/** Files come before their statuses. Both ways to bring one answer as soon as it is there: there is nothing to work on. */
function addMediaRoutes(router: Router, { attachments }: MastodonDeps): void {
  for (const version of ['v1', 'v2']) {
    router.post(`/${version}/media`, requireToken, async (ctx) => {
      const file = await readFormFile(ctx.req);
      if (file === null) {
        throw new Refusal(422, "Validation failed: File can't be blank");
      }
      const attachment = await attachments.add(file.bytes, file.description);
      ctx.body = presentAttachment(attachment, baseOf(ctx));
    });
  }

  router.get('/v1/media/:id', requireToken, (ctx) => {
    const attachment: Attachment | undefined = attachments.find(ctx.params.id ?? '');
    if (attachment === undefined) {
      throw notFound();
    }
    ctx.body = presentAttachment(attachment, baseOf(ctx));
  });
}

/** Answers in Mastodon's error shape. */
const answerErrors: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal(500, 'The sandbox broke.');
    if (refusal !== error) {
      ctx.app.emit('error', error, ctx);
    }
    ctx.status = refusal.status;
    ctx.set(refusal.headers);
    ctx.body = { error: refusal.message };
  }
};

/** For calls that only the account may make. */
const requireToken: Middleware = (ctx, next) => {
  if (tokenOf(ctx.get('authorization')) !== mastodonAccount.accessToken) {
    throw new Refusal(401, 'The access token is invalid');
  }
  return next();
};

/** For calls that anybody may make: no token is fine, a wrong one is not. */
const requireTokenIfAny: Middleware = (ctx, next) =>
  ctx.get('authorization') === '' ? next() : requireToken(ctx, next);

function tokenOf(header: string): string | undefined {
  return /^bearer\s+(?<token>\S+)$/iv.exec(header)?.groups?.['token'];
}
