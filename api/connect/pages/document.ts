import type { Context } from 'koa';
import { html, type Html } from '../../../runtime/html.ts';

/**
 * The page's own stylesheet, and forms that lead back here; nothing else. The way to the network is a link and a refresh
 * (`leavePage`), since Chromium holds the redirects of a form's answer against `form-action` too, and where a Mastodon
 * account has its server is not known when the form is shown.
 */
const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export type Page = {
  readonly title: string;
  readonly content: Html;
  /** Where the browser goes by itself, and after how many seconds. */
  readonly refresh?: { readonly seconds: number; readonly url: string };
};

/** @param base The path under which browsers see this service, without a slash at the end. */
const documentOf = ({ title, content, refresh }: Page, base: string): string =>
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

/** Answers with a page for this browser and this moment only. */
export function showPage(ctx: Context, status: number, page: Page, base: string): void {
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

/** What went wrong, told to screen readers at once. */
export const alert = (message: string): Html => html`<p class="alert" role="alert">${message}</p>`;
