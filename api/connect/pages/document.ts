import type { Context } from 'koa';
import { html, type Html } from '../../../runtime/html.ts';

/**
 * Allows only the page's own stylesheet and forms that lead back here. The page leads to the network by a link and a
 * refresh (`leavePage`): Chromium also applies `form-action` to redirects, and the server of a Mastodon account is
 * unknown when the form is shown.
 */
const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export type ConnectPage = {
  readonly title: string;
  readonly content: Html;
  /** Automatic redirect after the given number of seconds. */
  readonly refresh?: { readonly seconds: number; readonly url: string };
};

/** @param base The public path prefix of this service, without a trailing slash. */
const documentOf = ({ title, content, refresh }: ConnectPage, base: string): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <meta name="color-scheme" content="light dark" />
        ${refresh ? [html`<meta http-equiv="refresh" content="${refresh.seconds}; url=${refresh.url}" />`] : []}
        <title>${title} · Punctual</title>
        <link rel="stylesheet" href="${base}/connect/style.css" />
      </head>
      <body>
        <main>
          <p class="service">Punctual</p>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`.markup;

/** Sends a page that must not be cached. */
export function showPage(ctx: Context, status: number, page: ConnectPage, base: string): void {
  ctx.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex',
  });
  ctx.status = status;
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = documentOf(page, base);
}

/** An error that screen readers announce immediately. */
export const alert = (message: string): Html => html`<p class="alert" role="alert">${message}</p>`;

/** Fields of every form of a page. */
export type Form = { readonly action: string; readonly key: string };

/** @param step The form's action, for `sendForm`. */
export const formOf = ({ action, key }: Form, step: string, content: Html): Html =>
  html`<form method="post" action="${action}">
    <input type="hidden" name="key" value="${key}" />
    <input type="hidden" name="step" value="${step}" />
    ${content}
  </form>`;
