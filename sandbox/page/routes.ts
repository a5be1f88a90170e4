import { Router, type RouterContext } from '@koa/router';
import type { Files } from '../files.ts';
import { originOf } from '../origin.ts';
import type { Place, SandboxNetwork } from '../network.ts';
import { isRefused, type SandboxPost } from '../post.ts';
import { networks } from '../registry.ts';
import type { Store } from '../store.ts';
import { threadsOf } from '../threads.ts';
import type { Asset } from './assets.ts';
import { documentOf, type SandboxPage } from './document.ts';
import type { Events } from './events.ts';
import { missingView, threadView, timelineView } from './post-view.ts';

export type PageDeps = {
  readonly store: Store;
  readonly files: Files;
  readonly events: Events;
  readonly assets: ReadonlyMap<string, Asset>;
};

/** Web pages: the timeline of all networks, of one network or of a tag, and every post at its own URL. */
export function pageRoutes({ store, files, events, assets }: PageDeps): Router {
  const router = new Router();

  router.get('/', (ctx) => showTimeline(ctx, store, { title: 'Timeline' }, () => true));
  for (const network of networks) {
    router.get(`/${network.id}`, (ctx) => ctx.redirect(network.profile));
    router.get(`/${network.id}/{*path}`, (ctx, next) => {
      const place = network.pageAt(piecesOf(ctx.path).slice(1), ctx.URL.searchParams);
      return place === null ? next() : showPlace(ctx, store, network, place);
    });
  }
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
  head: Omit<SandboxPage, 'timeline'>,
  isShown: (post: SandboxPost) => boolean,
): void {
  const asked = Number(ctx.query['page']);
  const pageNumber = Number.isInteger(asked) && asked > 0 ? asked : 1;
  show(ctx, { ...head, timeline: timelineView(store.timeline(), isShown, pageNumber) });
}

function showPlace(ctx: RouterContext, store: Store, network: SandboxNetwork, place: Place): void {
  const { id, label } = network;
  if (place.kind === 'post') {
    showPost(ctx, store, network, place.id);
  } else if (place.kind === 'profile') {
    showTimeline(ctx, store, { title: label }, (post) => post.network === id);
  } else {
    const title = `#${place.tag} on ${label}`;
    const path = network.tagPath(place.tag);
    showTimeline(
      ctx,
      store,
      { title, heading: title },
      (post) =>
        post.network === id &&
        !isRefused(post) &&
        network.show(post).segments.some(({ href }) => href === path),
    );
  }
}

function showPost(ctx: RouterContext, store: Store, network: SandboxNetwork, id: string): void {
  const post = store.find(network.id, id);
  const thread = threadsOf(store.timeline()).find((posts) => posts.some((other) => other === post));
  if (post === undefined || thread === undefined) {
    showMissing(ctx);
    return;
  }
  const what = network.show(post).title ?? post.text;
  const title = `${what === '' ? 'A picture' : `“${what}”`} on ${network.label}`;
  show(ctx, { title, timeline: threadView(thread, post) });
}

function showMissing(ctx: RouterContext): void {
  ctx.status = 404;
  show(ctx, { title: 'Not here', timeline: missingView() });
}

function show(ctx: RouterContext, page: SandboxPage): void {
  ctx.type = 'html';
  ctx.body = documentOf(page, originOf(ctx), ctx.path);
}

/** The pieces of a path, decoded. An undecodable path stays unchanged. */
function piecesOf(path: string): string[] {
  const pieces = path.split('/').filter((piece) => piece !== '');
  try {
    return pieces.map(decodeURIComponent);
  } catch {
    return pieces;
  }
}
