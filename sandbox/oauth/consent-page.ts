import type { Context } from 'koa';
import { accountNames, type AccountName, type Identity } from '../account-name.ts';
import { html, type Html } from '../../runtime/html.ts';

/** The content of the consent page. */
export type ConsentPage = {
  /** The network's id, which sets the page's colour. */
  readonly network: string;
  readonly label: string;
  /** The app's name. */
  readonly app: string;
  /** The requested scopes, with the network's names and their meanings. */
  readonly scopes: readonly { readonly name: string; readonly meaning: string }[];
  /** Whether the user may deselect scopes: then the form has a field `allow-<name>` for each selected one. */
  readonly picksScopes?: boolean | undefined;
  readonly accounts: Readonly<Record<AccountName, Identity>>;
  /** The account that is selected initially. */
  readonly chosen?: AccountName | undefined;
  /** The redirect URI. */
  readonly returnsTo: string;
  /** The form's action. */
  readonly action: string;
  /** Hidden fields besides `account` (an `AccountName`) and `decision` (`allow` or `deny`). */
  readonly fields: Readonly<Record<string, string>>;
};

/** Shows the page on which the user chooses an account and allows or denies access. */
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
      <p class="quiet">You will return to ${originIn(page.returnsTo)}.</p>
    </main>`,
  );
}

/** Shows an error page, for errors that must not be sent to the app by a redirect. */
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

/** Whether a form was sent by a page of the sandbox and not by another site (CSRF). */
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
    // Browsers apply `form-action` to every redirect that follows a form, including the app's.
    'content-security-policy':
      "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self' http: https:; frame-ancestors 'none'",
    // With no-referrer, browsers would omit the form's origin.
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
          <span class="tagline">A simulated network. Nothing here leaves your machine.</span>
        </header>
        ${main}
      </body>
    </html>`;
  ctx.body = markup;
}
