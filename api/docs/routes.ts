import { Router } from '@koa/router';
import manifest from '../../package.json' with { type: 'json' };
import { loadPage } from './load-page.ts';
import { serveFile } from './static-file.ts';

/** Where a newcomer may go from `/`. */
const welcome = {
  name: 'Punctual',
  description: manifest.description,
  version: manifest.version,
  docs: '/docs',
  openapi: '/openapi.json',
  api: '/api/v1',
  health: '/healthz',
  readiness: '/readyz',
};

/** Everything comes from here, nothing is inline, and no other page may frame it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** For people: the documents in a browser, and a first answer at `/`. Needs no key. */
export function docsRouter(): Router {
  const { page, assets } = loadPage();
  return new Router()
    .get('/', (ctx) => {
      ctx.vary('Accept');
      if (ctx.accepts('json', 'html') === 'html') {
        ctx.redirect('/docs');
        return;
      }

      ctx.type = 'json';
      ctx.body = `${JSON.stringify(welcome, undefined, 2)}\n`;
    })
    .get('/docs', (ctx) => {
      ctx.set('Content-Security-Policy', policy);
      ctx.set('Referrer-Policy', 'no-referrer');
      serveFile(ctx, page);
    })
    .get('/docs/:name', (ctx) => {
      const asset = assets.get(ctx.params['name'] ?? '');
      if (asset) {
        serveFile(ctx, asset);
      }
    });
}
