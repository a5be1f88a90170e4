import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Marked, type RendererObject } from 'marked';
import { html, Html } from '../../runtime/html.ts';

export type Guide = {
  readonly path: string;
  readonly title: string;
  readonly markdown: string;
  readonly toHtml: () => string;
};

const root = new URL('../../docs/', import.meta.url);
const index = 'guides/README.md';

/** Reads all pages of `docs/`. @param pathOf The address of a call such as `POST /posts`, which pages link to. */
export function readGuides(pathOf: (call: string) => string | undefined): Guide[] {
  const files = globSync('**/*.md', { cwd: fileURLToPath(root) }).toSorted();
  const texts = new Map(files.map((file) => [file, readFileSync(new URL(file, root), 'utf8')]));
  const titleOf = (file: string): string => /^# (.+)$/mv.exec(texts.get(file) ?? '')?.[1] ?? file;
  // In the order of the index, which may lack some.
  const listed = texts.get(index)?.matchAll(/\]\((?<name>[\w\-]+\.md)\)/gv) ?? [];
  const inOrder = [...[...listed].map(({ groups }) => `guides/${groups?.['name']}`), ...files];
  const guides = [...new Set(inOrder)].filter((file) => /^guides\/[^R]/v.test(file));
  const linkTo = (file: string, open: string): Html => {
    const current = file === open ? html` aria-current="page"` : '';
    return html`<a href="${addressOf(file)}" ${current}>${titleOf(file)}</a>`;
  };
  return [...texts].map(([file, markdown]) => ({
    path: addressOf(file),
    title: titleOf(file),
    // Its address, /docs/guides.md, is one folder higher.
    markdown: file === index ? markdown.replaceAll(/\]\((?=[\w\-]+\.md)/gv, '](guides/') : markdown,
    toHtml: () => {
      const content = rendererFor(file, texts, pathOf).parse(markdown) as string;
      return pageOf(
        titleOf(file),
        guides.map((one) => linkTo(one, file)),
        content,
      );
    },
  }));
}

const addressOf = (file: string): string => `/docs/${file.replace(/(?:\/README)?\.md$/v, '')}`;

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w \-]/gv, '')
    .replaceAll(' ', '-');

function rendererFor(
  file: string,
  texts: ReadonlyMap<string, string>,
  pathOf: (call: string) => string | undefined,
): Marked {
  const resolve = (href: string): string | null => {
    const { protocol, pathname, hash } = new URL(href, `docs:///docs/${file}`);
    if (protocol !== 'docs:') {
      return href;
    }

    const name = pathname.replace('/docs/', '');
    return texts.has(name)
      ? addressOf(name) + hash
      : name.startsWith('pictures/')
        ? pathname
        : null;
  };
  const renderer: RendererObject = {
    heading({ tokens, depth, text }) {
      const content = this.parser.parseInline(tokens);
      return `<h${depth} id="${anchorOf(text)}">${content}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const text = new Html(this.parser.parseInline(tokens));
      const to = resolve(href);
      // A file outside of `docs/` is not served.
      return to === null ? text.markup : html`<a href="${to}">${text}</a>`.markup;
    },
    image: ({ href, text }) => html`<img src="${resolve(href) ?? href}" alt="${text}" />`.markup,
    codespan({ text }) {
      const code = html`<code>${text}</code>`;
      const path = pathOf(text);
      return path === undefined ? code.markup : html`<a href="${path}">${code}</a>`.markup;
    },
    html: ({ text }) => html`${text}`.markup,
  };
  return new Marked({ renderer });
}

function pageOf(title: string, links: readonly Html[], content: string): string {
  // Makes elements that scroll sideways reachable by keyboard.
  const main = content
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Punctual</title>
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        <link rel="stylesheet" href="/docs/guides.css" />
      </head>
      <body>
        <header>
          <a href="/docs">API reference</a>
          <a href="/docs/guides">Guides</a>
        </header>
        <nav aria-label="Guides">${links}</nav>
        <main>${new Html(main)}</main>
      </body>
    </html>`.markup;
}
