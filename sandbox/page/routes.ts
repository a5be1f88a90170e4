import { Router, type RouterContext } from '@koa/router';
import { isDemo } from '../bluesky/sessions.ts';
import type { Files } from '../files.ts';
import { originOf } from '../origin.ts';
import type { NetworkId, Post } from '../post.ts';
import type { Store } from '../store.ts';
import { threadsOf } from '../threads.ts';
import type { Asset } from './assets.ts';
import { documentOf, type Page } from './document.ts';
import type { Events } from './events.ts';
import { networkFaces, segmentsOf, tagPath } from './networks.ts';
import { missingView, threadView, timelineView } from './post-view.ts';

export type PageDeps = {
  readonly store: Store;
  readonly files: Files;
  readonly events: Events;
  readonly assets: ReadonlyMap<string, Asset>;
};

/** What a person sees: the timeline of both networks, of one, of a tag, and every post at its own address. */
export function pageRoutes({ store, files, events, assets }: PageDeps): Router {
  const router = new Router();

  router.get('/', (ctx) => showTimeline(ctx, store, { title: 'Timeline' }, () => true));
  router.get('/mastodon', (ctx) => ctx.redirect(networkFaces.mastodon.profile));
  router.get('/bluesky', (ctx) => ctx.redirect(networkFaces.bluesky.profile));
  router.get(networkFaces.mastodon.profile, (ctx) => showProfile(ctx, store, 'mastodon'));
  router.get(`${networkFaces.mastodon.profile}/:id`, (ctx) => showPost(ctx, store, 'mastodon'));
  router.get('/mastodon/tags/:tag', (ctx) => showTag(ctx, store, 'mastodon'));
  router.get('/bluesky/hashtag/:tag', (ctx) => showTag(ctx, store, 'bluesky'));
  router.get('/bluesky/profile/:actor', (ctx, next) =>
    isDemo(ctx.params.actor ?? '') ? showProfile(ctx, store, 'bluesky') : next(),
  );
  router.get('/bluesky/profile/:actor/post/:id', (ctx, next) =>
    isDemo(ctx.params.actor ?? '') ? showPost(ctx, store, 'bluesky') : next(),
  );

  router.get('/events', (ctx) => events.listen(ctx));
  router.get('/assets/:name', (ctx, next) => {
    const asset = assets.get(ctx.params.name ?? '');
    if (asset === undefined) {
      return next();
    }
    ctx.type = asset.type;
    ctx.body = asset.body;
  });

  router.get('/files/:cid', async (ctx, next) => {
    const file = await files.read(ctx.params.cid ?? '');
    if (file === null) {
      return next();
    }
    ctx.type = file.type;
    ctx.body = file.bytes;
  });

  router.get('/{*path}', showMissing);
  return router;
}

function showTimeline(
  ctx: RouterContext,
  store: Store,
  head: Omit<Page, 'timeline'>,
  isShown: (post: Post) => boolean,
): void {
  const asked = Number(ctx.query['page']);
  const pageNumber = Number.isInteger(asked) && asked > 0 ? asked : 1;
  show(ctx, { ...head, timeline: timelineView(store.all(), isShown, pageNumber) });
}

function showProfile(ctx: RouterContext, store: Store, network: NetworkId): void {
  const title = networkFaces[network].label;
  showTimeline(ctx, store, { title }, (post) => post.network === network);
}

function showTag(ctx: RouterContext, store: Store, network: NetworkId): void {
  const tag = ctx.params.tag ?? '';
  const title = `#${tag} on ${networkFaces[network].label}`;
  const path = tagPath(network, tag);
  showTimeline(ctx, store, { title, heading: title }, (post) =>
    segmentsOf(post).some(({ href }) => href === path),
  );
}

function showPost(ctx: RouterContext, store: Store, network: NetworkId): void {
  const post = store.find(network, ctx.params.id ?? '');
  const thread = threadsOf(store.all()).find((posts) => posts.some((other) => other === post));
  if (post === undefined || thread === undefined) {
    showMissing(ctx);
    return;
  }
  const what = post.text === '' ? 'A picture' : `“${post.text}”`;
  const title = `${what} on ${networkFaces[network].label}`;
  show(ctx, { title, timeline: threadView(thread, post) });
}

function showMissing(ctx: RouterContext): void {
  ctx.status = 404;
  show(ctx, { title: 'Not here', timeline: missingView() });
}

function show(ctx: RouterContext, page: Page): void {
  ctx.type = 'html';
  ctx.body = documentOf(page, originOf(ctx), ctx.path);
}
