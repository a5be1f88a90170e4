import type { ConnectLink } from '../../../db/entities/channels.ts';
import type { Connector } from '../../../networks/network-entry.ts';
import type { Account } from '../../../networks/network.ts';
import type { ConnectField, OauthEntry } from '../../../networks/oauth/contract.ts';
import { html, type Html } from '../../../runtime/html.ts';
import { needsConfirmation } from '../../../services/channels/connect-at-network.ts';
import { shownOptions } from '../../../services/channels/connect-with-secret.ts';
import type { ConnectedAccount } from '../../../services/channels/read-link.ts';
import { alert, type ConnectPage, formOf, type Form } from './document.ts';

type LinkView = {
  readonly link: ConnectLink;
  readonly networkName: string;
  readonly workspaceName: string;
  /** Handle of the channel to connect again; null for any account. */
  readonly handle: string | null;
  readonly entry: OauthEntry;
  readonly connector: Connector | null;
  readonly form: Form;
  readonly error: string | null;
  /** The caller's return URL, for a person who gives up; null while nothing has failed. */
  readonly back: string | null;
  readonly typed: Readonly<Record<string, string>>;
};

export function linkPage(view: LinkView): ConnectPage {
  const { link, networkName, workspaceName, handle, connector, form, error, back } = view;
  const what =
    handle === null
      ? `${articleOf(networkName)} ${networkName} account`
      : `${handle} on ${networkName}`;
  const again = handle === null ? '' : ' again';
  return {
    title: `Connect ${what}${again}`,
    content: html`
      ${error === null ? [] : [alert(error)]}
      <p>
        This connects ${what} to <strong>${workspaceName}</strong>, whose posts then go out there.
        ${questionOf(view)} Your password stays with ${networkName}.
      </p>
      ${link.atSandbox ? [html`<p>It is an account of the sandbox: nothing is published.</p>`] : []}
      ${formOf(form, 'begin', html`${fieldsOf(view)}${confirmationOf(view)}<button>Continue to ${networkName}</button>`)}
      ${connector ? [secretForm(view, connector)] : []}
      ${back === null ? [] : [html`<p><a href="${back}" rel="noreferrer">Back to ${new URL(back).host}</a></p>`]}
      <p class="quiet">
        Did you not ask for this? Close the page, and nothing happens. The link connects one
        account.
      </p>
    `,
  };
}

/** `an X account`, `a Mastodon account`. */
const articleOf = (name: string): string => (/^(?:X$|[AEIO])/v.test(name) ? 'an' : 'a');

const questionOf = ({ entry, link, networkName }: LinkView): string =>
  needsConfirmation(entry, link)
    ? `${networkName} asks for your permission only once: if you allowed this service before, it connects the account you are signed in with, and asks no further question.`
    : `${networkName} asks you to allow it.`;

const confirmationOf = ({ entry, link, networkName, workspaceName }: LinkView): Html[] =>
  needsConfirmation(entry, link)
    ? [
        html`<fieldset>
          <label>
            <input type="checkbox" name="confirmed" value="yes" required />
            <span>Yes, ${workspaceName} may publish for my ${networkName} account.</span>
          </label>
        </fieldset>`,
      ]
    : [];

function fieldsOf({ link, entry, typed }: LinkView): Html[] {
  const fields = link.atSandbox ? [] : Object.entries(entry.fields);
  return fields.map(([name, field]) =>
    textField(name, `field-${name}`, field, typed[name] ?? link.values[name] ?? ''),
  );
}

const textField = (
  name: string,
  id: string,
  { label, placeholder, required }: ConnectField,
  value: string,
): Html =>
  html`<label for="${id}">${label}</label>
    <input
      type="text"
      id="${id}"
      name="${name}"
      value="${value}"
      placeholder="${placeholder}"
      autocapitalize="none"
      autocomplete="off"
      spellcheck="false"
      maxlength="500"
      ${required ? [html`required`] : []}
    />`;

const labels: Readonly<Record<string, string>> = {
  url: 'Your server',
  handle: 'Your handle',
};

function secretForm({ link, networkName, form, typed }: LinkView, connector: Connector): Html {
  const { secret } = connector;
  const secretName = secret.replaceAll('-', ' ');
  const inputs = shownOptions(connector, link).map(([name, { placeholder }]) => {
    const label = labels[name] ?? name;
    const usual = name === 'url' ? placeholder : '';
    const value = typed[name] ?? link.values[name] ?? usual;
    return textField(name, `secret-${name}`, { label, placeholder, required: true }, value);
  });
  return html`<details ${typed['step'] === 'secret' ? [html`open`] : []}>
    <summary>Use an ${secretName} instead</summary>
    <p class="quiet">You make one in the settings of ${networkName}. It is kept encrypted.</p>
    ${formOf(
      form,
      'secret',
      html`${inputs}
        <label for="secret">Your ${secretName}</label>
        <input
          type="password"
          id="secret"
          name="${secret}"
          autocomplete="off"
          maxlength="500"
          required
        />
        <button>Connect</button>`,
    )}
  </details>`;
}

export const choicePage = (
  { networkName, workspaceName, form, error }: LinkView,
  accounts: readonly Account[],
): ConnectPage => ({
  title: `Choose an account of ${networkName}`,
  content: html`
    ${error === null ? [] : [alert(error)]}
    <p>Which account is to be connected to <strong>${workspaceName}</strong>?</p>
    ${formOf(
      form,
      'choose',
      html`<fieldset>
          <legend class="quiet">You may publish for these.</legend>
          ${accounts.map(
            ({ handle }, index) =>
              html`<label>
                <input type="radio" name="account" value="${index}" required />
                <span>${handle}</span>
              </label>`,
          )}
        </fieldset>
        <button>Connect</button>`,
    )}
  `,
});

/** Shown on the way to the network. The refresh follows the same link as the button. */
export const leavePage = (networkName: string, url: string): ConnectPage => ({
  title: `Going to ${networkName}`,
  refresh: { seconds: 0, url },
  content: html`<p>Allow the connection there, and you come back here.</p>
    <p><a class="button" href="${url}" rel="noreferrer">Continue to ${new URL(url).host}</a></p>`,
});

export const connectedPage = (
  { networkName, workspaceName, handle, server, lost }: ConnectedAccount,
  form: Form,
): ConnectPage => ({
  title: `${handle} is connected`,
  content: html`<p>
      <strong>${handle}</strong> on ${networkName} is connected to
      <strong>${workspaceName}</strong>. Its posts go out there from now on, through ${server}.
    </p>
    ${lost > 0 ? [lostView(lost, form)] : []}
    <p class="quiet">You can close this page.</p>`,
});

const lostView = (lost: number, form: Form): Html =>
  html`<p>
      In the last 24 hours ${postsAre(lost, 'was', 'were')} not published, only because the access
      to this account was lost. A post that is still being sent elsewhere can follow afterwards.
    </p>
    ${formOf(form, 'retry', html`<button>Publish ${lost === 1 ? 'it' : 'them'} now</button>`)}`;

const postsAre = (count: number, one: string, many: string): string =>
  count === 1 ? `1 post ${one}` : `${count} posts ${many}`;

export const retriedPage = (count: number, left: number, form: Form): ConnectPage => ({
  title: count === 0 ? 'Nothing to publish now' : `${postsAre(count, 'is', 'are')} sent again`,
  content: html`${left > 0 ? [lostView(left, form)] : []}
    <p class="quiet">You can close this page.</p>`,
});

/** Shown while another request redeems the network's answer. */
export const waitPage = (url: string): ConnectPage => ({
  title: 'The account is being connected',
  refresh: { seconds: 2, url },
  content: html`<p>This takes a moment. The page reloads automatically.</p>
    <p><a href="${url}">Reload now</a></p>`,
});

export const problemPage = (message: string, back: string | null = null): ConnectPage => ({
  title: 'Nothing was connected',
  content: html`${alert(message)} ${back === null ? [] : [backLink(back)]}`,
});

/** The link may have connected an account, but the page does not say which one. */
export const usedPage = (message: string): ConnectPage => ({
  title: 'This link is used up',
  content: alert(message),
});

const backLink = (url: string): Html =>
  html`<p><a class="button" href="${url}" rel="noreferrer">Back to ${new URL(url).host}</a></p>`;
