import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import type { Brand } from '../../../domain/brand.ts';
import { html, type Html } from '../../../runtime/html.ts';

export type Look = {
  /** The public path prefix of this service, without a trailing slash. */
  readonly base: string;
  readonly brand: Brand;
};

/** The style of buttons. Their text is black or white, by the luminance of WCAG 2. */
function colorsOf({ color }: Brand): Html[] {
  if (color === null) {
    return [];
  }

  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  // Black and white contrast alike at 0.179.
  const onBrand = luminance > 0.179 ? '#000000' : '#ffffff';
  const css = `:root{--brand:${color};--on-brand:${onBrand};--edge:var(--line)}`;
  return [
    html`<style>
      ${css}
    </style>`,
  ];
}

/** A source for `style-src`: the hash of what is between the tags, spaces included. */
const hashOf = ({ markup }: Html): string => {
  const css = markup.slice(markup.indexOf('>') + 1, markup.lastIndexOf('<'));
  return ` 'sha256-${createHash('sha256').update(css).digest('base64')}'`;
};

/**
 * Allows only the page's own stylesheet, the brand's colours and logo, and forms that lead back here. The page leads to
 * the network by a link and a refresh (`leavePage`): Chromium also applies `form-action` to redirects, and the server of
 * a Mastodon account is unknown when the form is shown.
 */
const policyOf = (brand: Brand): string =>
  [
    "default-src 'none'",
    `style-src 'self'${colorsOf(brand).map(hashOf).join('')}`,
    ...(brand.logo_url === null ? [] : [`img-src ${new URL(brand.logo_url).origin}`]),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

export type ConnectPage = {
  readonly title: string;
  readonly content: Html;
  readonly refresh?: { readonly seconds: number; readonly url: string };
};

function documentOf({ title, content, refresh }: ConnectPage, { base, brand }: Look): string {
  const name = brand.name ?? 'Punctual';
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        ${refresh ? [html`<meta http-equiv="refresh" content="${refresh.seconds}; url=${refresh.url}" />`] : []}
        <title>${title} · ${name}</title>
        <link rel="stylesheet" href="${base}/connect/style.css" />
        ${colorsOf(brand)}
      </head>
      <body>
        <main>
          ${brand.logo_url === null ? [] : [html`<img class="logo" src="${brand.logo_url}" alt="" />`]}
          <p class="service">${name}</p>
          <h1>${title}</h1>
          ${content} ${footerOf(brand)}
        </main>
      </body>
    </html>`.markup;
}

function footerOf({ terms_url: terms, privacy_url: privacy }: Brand): Html[] {
  const links = [
    ...(terms === null ? [] : [html`<a href="${terms}" rel="noreferrer">Terms</a>`]),
    ...(privacy === null ? [] : [html`<a href="${privacy}" rel="noreferrer">Privacy</a>`]),
  ];
  return links.length === 0 ? [] : [html`<footer>${links}</footer>`];
}

export function showPage(ctx: Context, status: number, page: ConnectPage, look: Look): void {
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policyOf(look.brand),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex',
  });
  ctx.status = status;
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = documentOf(page, look);
}

/** An error that screen readers announce immediately. */
export const alert = (message: string): Html => html`<p class="alert" role="alert">${message}</p>`;

export type Form = { readonly action: string; readonly key: string };

/** @param step The form's action, for `sendForm`. */
export const formOf = ({ action, key }: Form, step: string, content: Html): Html =>
  html`<form method="post" action="${action}">
    <input type="hidden" name="key" value="${key}" />
    <input type="hidden" name="step" value="${step}" />
    ${content}
  </form>`;
