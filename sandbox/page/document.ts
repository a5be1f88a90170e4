import { directives, controlDirectives } from '../directives.ts';
import { html, type Html } from '../../runtime/html.ts';
import { networks } from '../registry.ts';

export type SandboxPage = {
  readonly title: string;
  /** Shown above a timeline that is filtered. */
  readonly heading?: string;
  /** The content of the timeline. Every child has an id, which the page's script compares. */
  readonly timeline: Html;
};

const tabs = [
  { path: '/', label: 'All' },
  ...networks.map(({ profile, label }) => ({ path: profile, label })),
];

/** Renders a whole page. @param path Path of the requested URL. */
export function documentOf(page: SandboxPage, origin: string, path: string): string {
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} · Sandbox</title>
        <link rel="icon" href="/assets/icon.svg" />
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="stylesheet" href="/assets/networks.css" />
        <script src="/assets/live.js" type="module"></script>
      </head>
      <body>
        <header class="top">
          <a class="brand" href="/"
            ><img src="/assets/icon.svg" alt="" width="28" height="28" />Sandbox</a
          >
          <span class="tagline">Simulated networks. Nothing here leaves your machine.</span>
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

/** The sidebar: how to simulate failures, and how to sign in. @param origin This server's origin. */
function asideView(origin: string): Html {
  const failures = Object.entries(directives).map(
    ([name, { effect }]) =>
      html`<dt><code>#sandbox-${name}</code></dt>
        <dd>${effect}</dd>`,
  );
  const controlFailures = Object.entries(controlDirectives).map(
    ([name, { effect }]) =>
      html`<dt><code>${name}</code></dt>
        <dd>${effect}</dd>`,
  );
  return html`<aside>
    <section class="box">
      <h2>Try a failure</h2>
      <p>Write one of these into a post’s text to see how it is handled.</p>
      <dl>${failures}</dl>
      <p>
        Without changing a text: <code>POST ${origin}/control</code> with
        <code>{"platform": "${networks[0]?.id ?? ''}", "directive": "lost", "count": 1}</code>.
        <code>GET</code> lists what is set, <code>DELETE</code> removes it.
      </p>
      <p>Only in such a call:</p>
      <dl>${controlFailures}</dl>
    </section>
    <section class="box">
      <h2>Sign in</h2>
      ${networks.map(({ id, label, signIn }) => signInView(id, label, signIn(origin)))}
    </section>
  </aside>`;
}

function signInView(id: string, label: string, facts: Readonly<Record<string, string>>): Html {
  const rows = Object.entries(facts).map(
    ([term, value]) =>
      html`<dt>${term}</dt>
        <dd><code>${value}</code></dd>`,
  );
  return html`<h3 class="${id}">${label}</h3>
    <dl class="facts">${rows}</dl>`;
}
