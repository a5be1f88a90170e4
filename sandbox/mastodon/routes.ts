import { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { readBody, readFormFile } from '../body.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import type { SandboxDeps } from '../deps.ts';
import { contextOf } from '../threads.ts';
import { createAttachments } from './attachments.ts';
import { account as demo } from './account.ts';
import { createStatus, revoked, statusesOf } from './create-status.ts';
import type { MastodonDeps } from './deps.ts';
import { listStatuses } from './list-statuses.ts';
import { notFound } from './not-found.ts';
import { isStatus, type Status } from './post.ts';
import {
  baseOf,
  presentAccount,
  presentAttachment,
  presentInstance,
  statusPresenter,
} from './present.ts';

/** As much of Mastodon's API as it takes to publish and to look at what was published. */
export function mastodonRoutes(shared: SandboxDeps): Router {
  const deps = { ...shared, attachments: createAttachments(shared) };
  const router = new Router({ prefix: '/mastodon/api' });
  router.use(answerErrors);
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
  return router;
}

function addAccountRoutes(
  router: Router,
  { store }: SandboxDeps,
  { requireToken, requireTokenIfAny, lookUp }: Guards,
): void {
  router.get('/v1/accounts/verify_credentials', requireToken, (ctx) => {
    const source = { note: '', fields: [], privacy: 'public', sensitive: false, language: null };
    ctx.body = { ...presentAccount(baseOf(ctx), statusesOf(store.all()).length), source };
  });

  router.get('/v1/accounts/:id', requireTokenIfAny, (ctx) => {
    assertDemo(ctx.params.id);
    ctx.body = presentAccount(baseOf(ctx), statusesOf(store.all()).length);
  });

  router.get('/v1/accounts/:id/statuses', requireTokenIfAny, lookUp, (ctx) => {
    assertDemo(ctx.params.id);
    const own = statusesOf(store.all());
    const shown = own.filter((status) => !store.isHidden(status));
    const { statuses, link } = listStatuses(shown, new URL(ctx.href));
    if (link !== undefined) {
      ctx.set('link', link);
    }
    ctx.body = statuses.map(statusPresenter(baseOf(ctx), own));
  });
}

function assertDemo(id: string | undefined): void {
  if (id !== demo.id) {
    throw notFound();
  }
}

function addStatusRoutes(
  router: Router,
  deps: MastodonDeps,
  { requireToken, requireTokenIfAny, lookUp }: Guards,
): void {
  const { store } = deps;

  router.post('/v1/statuses', requireToken, async (ctx) => {
    const key = ctx.get('idempotency-key') || null;
    const { status, answer } = await createStatus(deps, await readBody(ctx.req), key);
    if (answer === 'none') {
      cutConnection(ctx);
    } else if (answer === 'error') {
      throw new Refusal(500, 'We are sorry, but something went wrong on our end.');
    } else {
      ctx.body = statusPresenter(baseOf(ctx), statusesOf(store.all()))(status);
    }
  });

  router.get('/v1/statuses/:id', requireTokenIfAny, lookUp, (ctx) => {
    const status = findStatus(deps, ctx.params.id);
    ctx.body = statusPresenter(baseOf(ctx), statusesOf(store.all()))(status);
  });

  router.get('/v1/statuses/:id/source', requireToken, lookUp, (ctx) => {
    const { id, text, spoilerText = '' } = findStatus(deps, ctx.params.id);
    ctx.body = { id, text, spoiler_text: spoilerText };
  });

  router.get('/v1/statuses/:id/context', requireTokenIfAny, lookUp, (ctx) => {
    const statuses = statusesOf(store.all());
    const { ancestors, descendants } = contextOf(statuses, findStatus(deps, ctx.params.id));
    const present = statusPresenter(baseOf(ctx), statuses);
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
  return post;
}

/** Files come before their statuses. */
function addMediaRoutes(
  router: Router,
  { attachments }: MastodonDeps,
  { requireToken }: Guards,
): void {
  for (const version of ['v1', 'v2']) {
    router.post(`/${version}/media`, requireToken, async (ctx) => {
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

  router.get('/v1/media/:id', requireToken, (ctx) => {
    const attachment = attachments.find(ctx.params.id ?? '');
    if (attachment === undefined) {
      throw notFound();
    }
    const isReady = attachments.poll(attachment.id);
    ctx.status = isReady ? 200 : 206;
    ctx.body = presentAttachment(attachment, baseOf(ctx), isReady);
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

type Guards = Readonly<Record<'requireToken' | 'requireTokenIfAny' | 'lookUp', Middleware>>;

function guardsOf({ script }: SandboxDeps): Guards {
  const assertToken = (ctx: Context): void => {
    if (tokenOf(ctx.get('authorization')) !== demo.accessToken) {
      throw new Refusal(401, 'The access token is invalid');
    }
    if (script.isRevoked('mastodon')) {
      throw revoked();
    }
  };
  return {
    /** For calls that only the account may make. */
    requireToken: (ctx, next) => {
      assertToken(ctx);
      return next();
    },
    /** For calls that anybody may make: no token is fine, a wrong one is not. */
    requireTokenIfAny: (ctx, next) => {
      if (ctx.get('authorization') !== '') {
        assertToken(ctx);
      }
      return next();
    },
    lookUp: (_, next) => {
      if (script.isBlind('mastodon')) {
        throw new Refusal(503, 'The server is overloaded.');
      }
      return next();
    },
  };
}

function tokenOf(header: string): string | undefined {
  return /^bearer\s+(?<token>\S+)$/iv.exec(header)?.groups?.['token'];
}
