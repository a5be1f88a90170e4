import type { Context } from 'koa';
import { accountNames, type AccountName, type Identity } from '../account-name.ts';
import { html, type Html } from '../../runtime/html.ts';

/** What a person is asked. */
export type ConsentPage = {
  /** The network's folder, which gives the page its colour. */
  readonly network: string;
  readonly label: string;
  /** The app's name. */
  readonly app: string;
  /** What the app asks for: the network's name of it, and what it means. */
  readonly scopes: readonly { readonly name: string; readonly meaning: string }[];
  /** Whether the person may leave some of them out: then the form has a field `allow-<name>` for each that is chosen. */
  readonly picksScopes?: boolean | undefined;
  readonly accounts: Readonly<Record<AccountName, Identity>>;
  /** The account that is chosen at first. */
  readonly chosen?: AccountName | undefined;
  /** Where the browser goes afterwards. */
  readonly returnsTo: string;
  /** Where the form is sent. */
  readonly action: string;
  /** What the form carries beside `account` (an `AccountName`) and `decision` (`allow` or `deny`). */
  readonly fields: Readonly<Record<string, string>>;
};

/** Answers with the page on which a person chooses an account, and allows an app to use it or not. */
export function showConsent(ctx: Context, page: ConsentPage): void {
  const { network, label, app, scopes, chosen = 'demo' } = page;
  const hidden = Object.entries(page.fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );
  const accounts = accountNames.map((name) =>
    accountView(page, name, page.accounts[name], name === chosen),
  );
  show(
    ctx,
    `Sign in to ${label}`,
    html`<main class="consent ${network}">
      <p class="badge">${label}</p>
      <h1><strong>${app}</strong> wants to use your account</h1>
      <form method="post" action="${page.action}">
        ${hidden}
        <fieldset>
          <legend>Which account</legend>
          ${accounts}
        </fieldset>
        <h2>What it may do</h2>
        <ul>
          ${scopes.map((scope) => scopeView(scope, page.picksScopes ?? false))}
        </ul>
        <p class="buttons">
          <button name="decision" value="allow" class="allow">Allow</button>
          <button name="decision" value="deny">Deny</button>
        </p>
      </form>
      <p class="quiet">You go back to ${originIn(page.returnsTo)}.</p>
    </main>`,
  );
}

/** Answers with a page that says why the person cannot go on. For what must not be told to the app by a redirect. */
export function showAuthorizeError(
  ctx: Context,
  page: { readonly network: string; readonly label: string; readonly reason: string },
): void {
  ctx.status = 400;
  show(
    ctx,
    'Sign-in failed',
    html`<main class="consent ${page.network}">
      <p class="badge">${page.label}</p>
      <h1>This app cannot sign you in</h1>
      <p>${page.reason}</p>
    </main>`,
  );
}

/** Whether a form comes from a page of the sandbox, and not from one that a person was lured to. */
export function isOwnForm(ctx: Context): boolean {
  const origin = ctx.get('origin');
  return origin === '' || (URL.canParse(origin) && new URL(origin).host === ctx.host);
}

function scopeView({ name, meaning }: ConsentPage['scopes'][number], isChoice: boolean): Html {
  const words = html`${meaning} <code>${name}</code>`;
  return isChoice
    ? html`<li class="choice">
        <label><input type="checkbox" name="allow-${name}" checked /><span>${words}</span></label>
      </li>`
    : html`<li>${words}</li>`;
}

function accountView(
  { network }: ConsentPage,
  name: AccountName,
  { displayName, handle }: Identity,
  isChosen: boolean,
): Html {
  return html`<label>
    <input type="radio" name="account" value="${name}" ${isChosen ? html`checked` : ''} />
    <img src="/assets/${network}.svg" alt="" width="36" height="36" />
    <span><strong>${displayName}</strong> <span class="handle">${handle}</span></span>
  </label>`;
}

const originIn = (address: string): string =>
  URL.canParse(address) ? new URL(address).origin : address;

function show(ctx: Context, title: string, main: Html): void {
  ctx.type = 'html';
  ctx.set({
    // A browser checks every redirect that follows a form against `form-action`, also those of the app.
    'content-security-policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self' http: https:; frame-ancestors 'none'",
    // Without a referrer the form would come without its origin.
    'referrer-policy': 'same-origin',
  });
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Sandbox</title>
        <link rel="icon" href="/assets/icon.svg" />
        <link rel="stylesheet" href="/assets/style.css" />
        <link rel="stylesheet" href="/assets/networks.css" />
      </head>
      <body>
        <header class="top">
          <span class="brand"
            ><img src="/assets/icon.svg" alt="" width="28" height="28" />Sandbox</span
          >
          <span class="tagline">A pretend network. Nothing here leaves your machine.</span>
        </header>
        ${main}
      </body>
    </html>`;
  ctx.body = markup;
}
