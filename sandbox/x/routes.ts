import { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { accountNames } from '../account-name.ts';
import type { SandboxDeps } from '../deps.ts';
import { accessIn, checkAccessToken, admit, bearerIn, hasScope } from '../oauth/access.ts';
import { originOf } from '../origin.ts';
import { isBy } from '../post.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import { account, accounts } from './account.ts';
import { createPost, type XDeps } from './create-post.ts';
import { createIds } from './ids.ts';
import { isXPost } from './post.ts';
import { xOauthRoutes } from './oauth.ts';
import {
  assertBelowCap,
  assertMoney,
  brokeDown,
  forbidden,
  invalid,
  notFound,
  xProblemOf,
  unauthorized,
} from './problems.ts';
import { readJson } from './read-json.ts';
import { presentText } from './text.ts';
import { timelineOf } from './timeline.ts';
import { postsById } from './posts-by-id.ts';
import { addUploadRoutes } from './upload-routes.ts';
import { createUploads } from './uploads.ts';
import type { CreatedPost, Me, MeQuery } from './wire.ts';

/** The parts of version 2 of X's API that publishing and reading back need. */
export function xRoutes(shared: SandboxDeps): Router {
  const nextId = createIds(shared.now);
  const deps: XDeps = { ...shared, nextId, uploads: createUploads({ ...shared, nextId }) };
  const router = new Router({ prefix: '/x/2' });
  router.use(answerErrors);
  router.use(requireToken(shared));
  router.use((_, next) => {
    assertMoney(shared);
    return next();
  });
  addReadRoutes(router, deps);
  router.use('/media', requireScope('media.write'));
  addUploadRoutes(router, deps);
  router.post('/tweets', requireScope('tweet.write'), async (ctx) => {
    const { post, answer } = await createPost(deps, await readJson(ctx), accessIn(ctx));
    if (answer === 'none') {
      cutConnection(ctx);
    } else if (answer === 'error') {
      throw brokeDown();
    } else {
      const { id } = post;
      const created: CreatedPost = {
        data: { id, text: presentText(post).text, edit_history_post_ids: [id] },
      };
      ctx.status = 201;
      ctx.body = created;
    }
  });
  router.delete('/tweets/:id', requireScope('tweet.write'), async (ctx) => {
    const post = shared.store.find('x', ctx.params['id'] ?? '');
    if (!isXPost(post)) {
      throw notFound(`tweet with id: [${ctx.params['id']}]`);
    }
    if (!isBy(accessIn(ctx).account)(post)) {
      throw forbidden('You are not authorized to delete this Tweet.');
    }
    await shared.store.remove(post);
    ctx.body = { data: { deleted: true } };
  });
  router.all('/{*path}', () => {
    throw notFound('what is at this address');
  });
  const all = new Router();
  all.post('/x/2/oauth2/token', answerErrors, (_, next) => {
    assertBelowCap(shared);
    return next();
  });
  all.use(xOauthRoutes(shared).routes());
  all.use(router.routes());
  return all;
}

/** Parameters of `GET /2/users/me`. */
const meParameters = {
  'user.fields': true,
  expansions: true,
  'post.fields': true,
} as const satisfies Record<MeQuery, true>;

function addReadRoutes(router: Router, deps: XDeps): void {
  const { store } = deps;
  router.get('/users/me', requireScope('users.read'), (ctx) => {
    const unknown = Object.keys(ctx.query).find((name) => !Object.hasOwn(meParameters, name));
    if (unknown !== undefined) {
      throw invalid(
        `The query parameter [${unknown}] is not one of [${Object.keys(meParameters)}]`,
      );
    }
    const { id, username, displayName: name } = accounts[accessIn(ctx).account];
    const me: Me = { data: { id, name, username } };
    ctx.body = me;
  });

  router.get('/tweets', requireScope('tweet.read'), (ctx) => {
    ctx.body = postsById(deps, new URL(ctx.href).searchParams);
  });

  router.get('/users/:id/tweets', requireScope('tweet.read'), (ctx) => {
    const asked = accountNames.find((name) => accounts[name].id === ctx.params.id);
    if (asked === undefined) {
      throw notFound(`user with id: [${ctx.params.id}]`);
    }
    const own = store.all().filter(isXPost).filter(isBy(asked));
    const shown = own.filter((post) => !store.isHidden(post));
    const { searchParams } = new URL(ctx.href);
    ctx.body = timelineOf(shown, searchParams, originOf(ctx), store.isAltered);
  });
}

/** Converts errors to X's error format. */
const answerErrors: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    const refusal = error instanceof Refusal ? error : brokeDown();
    if (refusal !== error) {
      ctx.app.emit('error', error, ctx);
    }
    ctx.status = refusal.status;
    ctx.set(refusal.headers);
    ctx.body = xProblemOf(refusal);
  }
};

const statics = [{ value: account.accessToken, scopes: null }];

const requireToken =
  (deps: SandboxDeps): Middleware =>
  (ctx, next) => {
    const access = checkAccessToken(deps, 'x', bearerIn(ctx), statics);
    if (typeof access === 'string') {
      throw unauthorized();
    }
    admit(ctx, access);
    return next();
  };

const requireScope =
  (scope: string): Middleware =>
  (ctx, next) => {
    if (!hasScope(ctx, scope)) {
      throw forbidden('You are not permitted to perform this action.');
    }
    return next();
  };
