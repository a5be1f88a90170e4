import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Router } from '@koa/router';
import type { Context } from 'koa';
import { description, version } from '../../runtime/version.ts';
import type { Json } from '../openapi/document.ts';
import { readGuides, type Guide } from './guides.ts';
import { operationMarkdown, type Operation } from './operation-markdown.ts';
import { serveFile, staticFile, type StaticFile } from './static-file.ts';

const welcome = {
  name: 'Punctual',
  description,
  version,
  docs: '/docs',
  guides: '/docs/guides',
  llms: '/llms.txt',
  openapi: '/openapi.json',
  api: '/api/v1',
  health: '/livez',
  readiness: '/readyz',
  status: '/status',
};

/** Only own files, no inline code, no framing. */
const policyOf = (more: readonly string[]): string =>
  [
    "default-src 'none'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join('; ');

const guidePolicy = policyOf(["style-src 'self'"]);

/** Scalar makes style elements and attributes. The nonce allows its elements; attributes run no code. */
const referencePolicy = (nonce: string): string =>
  policyOf([
    `script-src 'nonce-${nonce}'`,
    `style-src-elem 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
  ]);

type Call = { readonly call: string; readonly path: string; readonly operation: Operation };

/** The reference, the guides, both in Markdown too, and an overview at `/`. Needs no key. */
export function docsRouter(document: Json): Router {
  const calls = callsOf(document);
  const paths = new Map(calls.map(({ call, path }) => [call, path]));
  const places = new Map(calls.map(({ path, operation }) => [path, placeOf(operation)]));
  const guides = readGuides((call) => paths.get(call));
  const overview = markdownFile(overviewOf(guides, calls));
  const files = filesOf(document, calls, guides);
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
    .get('/llms.txt', (ctx) => serveFile(ctx, { ...overview(), type: types.txt }))
    .get('/docs', (ctx) => {
      ctx.vary('Accept');
      if (prefersMarkdown(ctx)) {
        serveFile(ctx, overview());
      } else {
        showReference(ctx);
      }
    })
    .get('/docs/scalar.js', (ctx) => serveScalar(ctx))
    .get('/docs/*name', (ctx) => {
      const { path } = ctx;
      const markdown = files.get(`${path}.md`);
      if (markdown) {
        ctx.vary('Accept');
      }

      const file = markdown && prefersMarkdown(ctx) ? markdown : files.get(path);
      const place = places.get(path);
      if (file) {
        ctx.set('Content-Security-Policy', guidePolicy);
        serveFile(ctx, file());
      } else if (place) {
        ctx.redirect(place);
      }
    });
}

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
};

const own = (name: string): URL => new URL(`page/${name}`, import.meta.url);

const referencePage = readFileSync(own('index.html'), 'utf8');

function showReference(ctx: Context): void {
  const nonce = randomBytes(16).toString('base64url');
  ctx.set({
    'Cache-Control': 'no-store', // Because of the nonce.
    'Content-Security-Policy': referencePolicy(nonce),
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  });
  ctx.type = types.html;
  ctx.body = referencePage.replaceAll('NONCE', nonce);
}

/** 5 MB, and 1.4 MB for browsers that take it compressed. Most processes never need it. */
let scalar: Promise<{ readonly plain: StaticFile; readonly packed: StaticFile }> | undefined;

async function serveScalar(ctx: Context): Promise<void> {
  scalar ??= scalarBundle().then(async (text) => ({
    plain: staticFile(types.js, Buffer.from(text)),
    packed: staticFile(types.js, await promisify(gzip)(text)),
  }));
  const { plain, packed } = await scalar;
  ctx.vary('Accept-Encoding');
  const isPacked = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (isPacked) {
    ctx.set('Content-Encoding', 'gzip');
  }

  serveFile(ctx, isPacked ? packed : plain);
}

const prefersMarkdown = (ctx: Context): boolean =>
  ctx.accepts('html', 'text/markdown') === 'text/markdown';

function later(type: string, make: () => Buffer | string): () => StaticFile {
  let made: StaticFile | undefined;
  return () => (made ??= staticFile(type, Buffer.from(make())));
}

const markdownFile = (text: string): (() => StaticFile) => later(types.md, () => text);

/** A call in the reference: see `page/start.js`. */
const placeOf = ({ tags, operationId }: Operation): string =>
  `/docs#tag/${tags[0]?.toLowerCase()}/${operationId}`;

function callsOf({ paths }: Json): Call[] {
  const items = Object.entries(paths as Readonly<Record<string, Record<string, Operation>>>);
  return items.flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      call: `${method.toUpperCase()} ${path}`,
      path: `/docs/${operation.operationId}`,
      operation,
    })),
  );
}

function filesOf(
  { components }: Json,
  calls: readonly Call[],
  guides: readonly Guide[],
): ReadonlyMap<string, () => StaticFile> {
  const file = (name: string, type: string, from: URL): [string, () => StaticFile] => {
    const served = staticFile(type, readFileSync(from)); // At once, so that a missing file is noticed at startup.
    return [`/docs/${name}`, () => served];
  };
  const pictures = new URL('../../docs/pictures/', import.meta.url);
  return new Map([
    file('start.js', types.js, own('start.js')),
    file('guides.css', types.css, own('guides.css')),
    file('icon.svg', types.svg, own('icon.svg')),
    ...globSync('*.png', { cwd: pictures }).map((name) =>
      file(`pictures/${name}`, types.png, new URL(name, pictures)),
    ),
    ...guides.flatMap(({ path, markdown, toHtml }): [string, () => StaticFile][] => [
      [path, later(types.html, toHtml)],
      [`${path}.md`, markdownFile(markdown)],
    ]),
    ...calls.map(({ call, path, operation }): [string, () => StaticFile] => {
      const text = () => operationMarkdown(call, operation, components as Json);
      return [`${path}.md`, later(types.md, text)];
    }),
  ]);
}

/** The list of all pages for language models (https://llmstxt.org). */
function overviewOf(guides: readonly Guide[], calls: readonly Call[]): string {
  const pages = guides.map(({ path, title }) => `- [${title}](${path}.md)`);
  const operations = calls.map(
    ({ call, operation }) => `- [${call}](/docs/${operation.operationId}.md): ${operation.summary}`,
  );
  return `# Punctual ${version}

> ${description}

The OpenAPI document is at /openapi.json. Calls are below /api/v1.

## Guides

${pages.join('\n')}

## Calls

${operations.join('\n')}
`;
}

/** The part of Fastify that the plugin below needs. */
type Reply = { readonly header: () => { readonly send: (text: string) => void } };
type Route = { readonly url: string; readonly handler: (request: undefined, reply: Reply) => void };
type Plugin = (
  fastify: { readonly route: (route: Route) => void },
  options: object,
  next: () => void,
) => void;

/** From the plugin for Fastify (24 MB): the package of the bundle itself brings 300 MB of others. */
async function scalarBundle(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference');
  const { promise, resolve } = Promise.withResolvers<string>();
  const reply = { header: () => ({ send: resolve }) };
  (plugin as unknown as Plugin)(
    { route: ({ url, handler }) => url.endsWith('.js') && handler(undefined, reply) },
    { configuration: { url: '/openapi.json' } },
    () => undefined,
  );
  return promise;
}
