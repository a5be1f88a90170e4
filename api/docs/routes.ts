import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Router } from '@koa/router';
import { description, version } from '../../runtime/version.ts';
import { serveFile, staticFile, type StaticFile } from './static-file.ts';

/** The response to `/`: where everything is. */
const welcome = {
  name: 'Punctual',
  description,
  version,
  docs: '/docs',
  openapi: '/openapi.json',
  api: '/api/v1',
  health: '/livez',
  readiness: '/readyz',
  status: '/status',
};

/** Only own files, no inline code, no framing. */
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

/** The API documentation in a browser, and an overview at `/`. Needs no key. */
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

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const own = (name: string): URL => new URL(`page/${name}`, import.meta.url);
const renderer = (name: string): string =>
  fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`));

type Page = {
  readonly page: StaticFile;
  /** Files by name. Any other name is not served. */
  readonly assets: ReadonlyMap<string, StaticFile>;
};

/** Reads the page and the renderer (2 MB) from disk once, so that a missing package is noticed at startup. */
function loadPage(): Page {
  const css = (path: URL | string): StaticFile => staticFile(types.css, readFileSync(path));
  const js = (path: URL | string): StaticFile => staticFile(types.js, readFileSync(path));
  return {
    page: staticFile(types.html, readFileSync(own('index.html'))),
    assets: new Map([
      ['swagger-ui.css', css(renderer('swagger-ui.css'))],
      ['swagger-ui-bundle.js', js(renderer('swagger-ui-bundle.js'))],
      ['page.css', css(own('page.css'))],
      ['start.js', js(own('start.js'))],
      ['icon.svg', staticFile(types.svg, readFileSync(own('icon.svg')))],
    ]),
  };
}
