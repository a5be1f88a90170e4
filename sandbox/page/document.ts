import { blueskyAccount, mastodonAccount } from '../accounts.ts';
import { failureTags } from '../failures.ts';
import { html, type Html } from '../html.ts';
import { networkFaces } from './networks.ts';

export type Page = {
  readonly title: string;
  /** Shown above the timeline where it is not the whole of it. */
  readonly heading?: string;
  /** What lies in the timeline. Every child has an id, so that the page's script can tell them apart. */
  readonly timeline: Html;
};

const tabs = [
  { path: '/', label: 'All' },
  { path: networkFaces.mastodon.profile, label: networkFaces.mastodon.label },
  { path: networkFaces.bluesky.profile, label: networkFaces.bluesky.label },
];

/** A whole page. @param path Of the address that was asked for. */
export function documentOf(page: Page, origin: string, path: string): string {
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} · Sandbox</title>
        <link rel="icon" href="/assets/icon.svg" />
        <link rel="stylesheet" href="/assets/style.css" />
        <script src="/assets/live.js" type="module"></script>
      </head>
      <body>
        <header class="top">
          <a class="brand" href="/"
            ><img src="/assets/icon.svg" alt="" width="28" height="28" />Sandbox</a
          >
          <span class="tagline">Pretend networks. Nothing here leaves your machine.</span>
          <span class="live" role="status"></span>
        </header>
        <div class="columns">
          <main>
            <nav>${tabs.map(({ path: to, label }) => tabView(to, label, to === path))}</nav>
            ${page.heading === undefined ? '' : html`<h1>${page.heading}</h1>`}
            <div id="timeline">${page.timeline}</div>
          </main>
          ${asideView(origin)}
        </div>
      </body>
    </html>`;
  return markup;
}

function tabView(path: string, label: string, isCurrent: boolean): Html {
  return html`<a href="${path}" ${isCurrent ? html`aria-current="page"` : ''}>${label}</a>`;
}

/** What stands beside the timeline: how to make a post fail, and how to sign in. @param origin This server's address. */
function asideView(origin: string): Html {
  const failures = failureTags.map(
    ({ tag, effect }) =>
      html`<dt><code>${tag}</code></dt>
        <dd>${effect}</dd>`,
  );
  return html`<aside>
    <section class="box">
      <h2>Try a failure</h2>
      <p>Write one of these into a post’s text and see what becomes of it.</p>
      <dl>${failures}</dl>
    </section>
    <section class="box">
      <h2>Sign in</h2>
      <h3 class="mastodon">Mastodon</h3>
      <dl class="facts">
        <dt>Server</dt>
        <dd><code>${origin}</code></dd>
        <dt>Access token</dt>
        <dd><code>${mastodonAccount.accessToken}</code></dd>
      </dl>
      <h3 class="bluesky">Bluesky</h3>
      <dl class="facts">
        <dt>Server</dt>
        <dd><code>${origin}</code></dd>
        <dt>Web address</dt>
        <dd>
          <code>${origin}<wbr />/bluesky</code>
        </dd>
        <dt>Handle</dt>
        <dd><code>${blueskyAccount.handle}</code></dd>
        <dt>App password</dt>
        <dd><code>${blueskyAccount.appPassword}</code></dd>
      </dl>
    </section>
  </aside>`;
}
