import { html, type Html } from '../../../runtime/html.ts';
import { alert, type ConnectPage } from './document.ts';
import { formOf, type Form } from './form.ts';

/** Shown on the way to the network. The refresh follows the same link as the button. */
export const leavePage = (networkName: string, url: string): ConnectPage => ({
  title: `Going to ${networkName}`,
  refresh: { seconds: 0, url },
  content: html`<p>Allow the connection there, and you come back here.</p>
    <p><a class="button" href="${url}" rel="noreferrer">Continue to ${new URL(url).host}</a></p>`,
});

export type Connected = {
  readonly networkName: string;
  readonly workspaceName: string;
  readonly handle: string;
  /** How many posts failed only because the access was lost. */
  readonly lost: number;
};

export const connectedPage = (
  { networkName, workspaceName, handle, lost }: Connected,
  form: Form,
): ConnectPage => ({
  title: `${handle} is connected`,
  content: html`<p>
      <strong>${handle}</strong> on ${networkName} is connected to
      <strong>${workspaceName}</strong>. Its posts go out there from now on.
    </p>
    ${lost > 0 ? [lostView(lost, form)] : []}
    <p class="quiet">You can close this page.</p>`,
});

const lostView = (lost: number, form: Form): Html =>
  html`<p>
      In the last 24 hours ${postsAre(lost, 'was', 'were')} not published, only because the access
      to this account was lost.
    </p>
    ${formOf(form, 'retry', html`<button>Publish ${lost === 1 ? 'it' : 'them'} now</button>`)}`;

const postsAre = (count: number, one: string, many: string): string =>
  count === 1 ? `1 post ${one}` : `${count} posts ${many}`;

export const retriedPage = (count: number): ConnectPage => ({
  title: count === 0 ? 'Nothing was left to publish' : `${postsAre(count, 'is', 'are')} sent again`,
  content: html`<p class="quiet">You can close this page.</p>`,
});

/** Shown while another request redeems the network's answer. */
export const waitPage = (url: string): ConnectPage => ({
  title: 'The account is being connected',
  refresh: { seconds: 2, url },
  content: html`<p>This takes a moment. The page reloads automatically.</p>
    <p><a href="${url}">Reload now</a></p>`,
});

/** @param back The caller's return URL, with the code in its query. */
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
