import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { staticFile, type StaticFile } from './static-file.ts';

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const own = (name: string): URL => new URL(`page/${name}`, import.meta.url);
const renderer = (name: string): string =>
  fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`));

export type Page = {
  readonly page: StaticFile;
  /** By name. What is not in here is not served, whatever a path says. */
  readonly assets: ReadonlyMap<string, StaticFile>;
};

/** Reads the page and the renderer (2 MB) from disk, once, so that a missing package is noticed at the start. */
export function loadPage(): Page {
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
