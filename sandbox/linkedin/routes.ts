import { Router } from '@koa/router';
import type { Middleware } from 'koa';
import { readRequestBody } from '../body.ts';
import type { SandboxDeps } from '../deps.ts';
import { accessIn, hasScope } from '../oauth/access.ts';
import { cutConnection, Refusal } from '../refusal.ts';
import { members, otherPageUrn, companyPage, pageUrn, urnOf } from './account.ts';
import { assertQuery } from './check-fields.ts';
import { commentsOn, createComment, presentComment } from './comments.ts';
import { createPost } from './create-post.ts';
import type { LinkedinDeps } from './deps.ts';
import { addFigureRoutes } from './figure-routes.ts';
import { guardsOf, mayActFor, type Guards } from './guards.ts';
import { addMediaRoutes } from './media-routes.ts';
import { linkedinOauthRoutes } from './oauth.ts';
import { isLinkedinPost, type LinkedinPost } from './post.ts';
import { accessDenied, invalid, LinkedinRefusal, notFound } from './refusals.ts';
import { createUploads } from './uploads.ts';

/** The parts of LinkedIn's API that publishing and reading back need. */
export function linkedinRoutes(shared: SandboxDeps): Router {
  const { files, script, now } = shared;
  const deps = { ...shared, uploads: createUploads(files, script, now), nextId: createIds(now) };
  const router = new Router({ prefix: '/linkedin' });
  const guards = guardsOf(shared);
  router.use(answerErrors);
  addAccountRoutes(router, guards);
  addMediaRoutes(router, deps, guards);
  addPostRoutes(router, deps, guards);
  addCommentRoutes(router, deps, guards);
  addFigureRoutes(router, deps, guards);
  for (const api of ['rest', 'v2', 'dms-uploads']) {
    router.all(`/${api}/{*path}`, (ctx) => {
      throw notFound(`${ctx.method} ${ctx.path}`);
    });
  }
  const all = new Router();
  all.use(linkedinOauthRoutes(shared).routes());
  all.use(router.routes());
  return all;
}

function createIds(now: () => number): () => bigint {
  let last = 0n;
  return () => {
    const fromClock = BigInt(now()) << 22n;
    last = fromClock > last ? fromClock : last + 16n;
    return last;
  };
}

function addAccountRoutes(router: Router, { versioned, unversioned, partner }: Guards): void {
  router.get('/v2/userinfo', unversioned, (ctx) => {
    if (!hasScope(ctx, 'openid', 'profile')) {
      throw accessDenied('userinfo.GET.NO_VERSION');
    }
    const { id: sub, displayName: name } = members[accessIn(ctx).account];
    ctx.body = { sub, name, given_name: name, locale: { country: 'US', language: 'en' } };
  });

  const organizations = partner('organizationAcls.FINDER-roleAssignee');
  router.get('/rest/organizationAcls', versioned, organizations, (ctx) => {
    assertQuery(ctx.URL.searchParams, 'q', 'role', 'state', 'start', 'count');
    const { account } = accessIn(ctx);
    const common = { roleAssignee: urnOf(members[account]), state: 'APPROVED' };
    ctx.body = {
      paging: { start: 0, count: 10, links: [] },
      elements:
        account === 'demo'
          ? [
              { ...common, role: 'ADMINISTRATOR', organization: pageUrn },
              { ...common, role: 'ANALYST', organization: otherPageUrn },
            ]
          : [],
    };
  });

  router.get('/rest/organizations/:id', versioned, organizations, (ctx) => {
    if (ctx.params['id'] !== companyPage.id) {
      throw notFound(ctx.path);
    }
    const { id, vanityName, displayName: localizedName } = companyPage;
    ctx.body = { id: Number(id), vanityName, localizedName };
  });
}

function addPostRoutes(router: Router, deps: LinkedinDeps, { versioned, partner }: Guards): void {
  const { store } = deps;
  router.post('/rest/posts', versioned, async (ctx) => {
    assertQuery(ctx.URL.searchParams);
    const { post, answer } = await createPost(deps, ctx, await readRequestBody(ctx.req));
    if (answer === 'none') {
      cutConnection(ctx);
    } else if (answer === 'error') {
      throw new LinkedinRefusal(500, 'Internal Server Error', { code: 'INTERNAL_SERVER_ERROR' });
    } else {
      ctx.status = 201;
      ctx.set('x-restli-id', post.id);
      ctx.set('location', `/posts/${encodeURIComponent(post.id)}`);
      ctx.body = '';
    }
  });

  router.delete('/rest/posts/:urn', versioned, async (ctx) => {
    const post = store.find('linkedin', ctx.params['urn'] ?? '');
    if (isLinkedinPost(post)) {
      if (post.replyTo !== null || !mayActFor(ctx, post.author)) {
        throw accessDenied('partnerApiPostsExternal.DELETE');
      }
      for (const comment of commentsOn(deps, post.id)) {
        await store.remove(comment);
      }
      await store.remove(post);
    }
    ctx.status = 204; // Also for a post that was deleted before.
  });

  const finder = partner('partnerApiPostsExternal.FINDER-author');
  router.get('/rest/posts', versioned, finder, (ctx) => {
    const { searchParams } = ctx.URL;
    assertQuery(searchParams, 'q', 'author', 'start', 'count', 'sortBy');
    if (searchParams.get('q') !== 'author' || ctx.get('x-restli-method') !== 'FINDER') {
      throw invalid('Posts are found by their author');
    }
    const own = store
      .all()
      .filter(isLinkedinPost)
      .filter(({ author, replyTo }) => author === searchParams.get('author') && replyTo === null)
      .filter((post) => !store.isHidden(post))
      .toReversed();
    ctx.body = { paging: { links: [] }, elements: pageOf(own, searchParams).map(presentPost) };
  });
}

function addCommentRoutes(
  router: Router,
  deps: LinkedinDeps,
  { versioned, unversioned, partner }: Guards,
): void {
  const apis = [
    ['rest', versioned],
    ['v2', unversioned],
  ] as const;
  for (const [api, guard] of apis) {
    const path = `/${api}/socialActions/:urn/comments`;
    router.post(path, guard, partner('partnerApiSocialActions.CREATE'), async (ctx) => {
      assertQuery(ctx.URL.searchParams);
      const urn = ctx.params['urn'] ?? '';
      const { post, answer } = await createComment(deps, ctx, urn, await readRequestBody(ctx.req));
      if (answer === 'none') {
        cutConnection(ctx);
      } else if (answer === 'error') {
        throw new LinkedinRefusal(500, 'Internal Server Error', { code: 'INTERNAL_SERVER_ERROR' });
      } else {
        const comment = presentComment(deps, post);
        ctx.status = 201;
        ctx.set('x-restli-id', comment.id);
        ctx.body = comment;
      }
    });

    router.delete(`${path}/:id`, guard, partner('partnerApiSocialActions.DELETE'), async (ctx) => {
      assertQuery(ctx.URL.searchParams, 'actor');
      const { urn = '', id = '' } = ctx.params;
      const comment = commentsOn(deps, urn).find((one) => one.id.endsWith(`,${id})`));
      if (comment === undefined) {
        throw notFound(`${urn} ${id}`);
      }
      const actor = ctx.URL.searchParams.get('actor') ?? '';
      if (actor !== comment.author || !mayActFor(ctx, actor)) {
        throw accessDenied(`partnerApiSocialActions.DELETE as ${actor}`);
      }
      await deps.store.remove(comment);
      ctx.status = 204;
    });

    router.get(path, guard, partner('partnerApiSocialActions.GET_ALL'), (ctx) => {
      assertQuery(ctx.URL.searchParams, 'start', 'count');
      const comments = commentsOn(deps, ctx.params['urn'] ?? '');
      const shown = pageOf(comments, ctx.URL.searchParams);
      ctx.body = {
        paging: { links: [] },
        elements: shown.map((comment) => presentComment(deps, comment)),
      };
    });
  }
}

function pageOf<T>(all: readonly T[], query: URLSearchParams): readonly T[] {
  const start = Number(query.get('start') ?? 0);
  return all.slice(start, start + Math.min(Number(query.get('count') ?? 10), 100));
}

function contentOf({ media, article }: LinkedinPost): object | undefined {
  if (article) {
    const { thumbnail, ...words } = article;
    return { article: { ...words, ...(thumbnail && { thumbnail: thumbnail.urn }) } };
  }
  const files = media.map(({ urn, altText }) => ({ id: urn, ...(altText !== '' && { altText }) }));
  return files.length > 1 ? { multiImage: { images: files } } : files[0] && { media: files[0] };
}

function presentPost(post: LinkedinPost) {
  const { id, author, commentary, createdAt, visibility } = post;
  const at = Date.parse(createdAt);
  const content = contentOf(post);
  return {
    id,
    author,
    commentary,
    visibility,
    createdAt: at,
    publishedAt: at,
    lastModifiedAt: at,
    lifecycleState: 'PUBLISHED',
    ...(content && { content }),
  };
}

/** Converts errors to LinkedIn's error format. */
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
    const more = refusal instanceof LinkedinRefusal ? refusal.more : {};
    ctx.body = { ...more, message: refusal.message, status: refusal.status };
  }
};
