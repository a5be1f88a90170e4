import { html, type Html } from '../../../runtime/html.ts';
import { alert, type Page } from './document.ts';

/** On the way to the network. The refresh does what the button would. */
export const leavePage = (networkName: string, url: string): Page => ({
  title: `Going to ${networkName}`,
  refresh: { seconds: 0, url },
  content: html`<p>Allow the connection there, and you come back here.</p>
    <p><a class="button" href="${url}" rel="noreferrer">Continue to ${new URL(url).host}</a></p>`,
});

export type Connected = {
  readonly networkName: string;
  readonly workspaceName: string;
  readonly handle: string;
};

export const connectedPage = ({ networkName, workspaceName, handle }: Connected): Page => ({
  title: `${handle} is connected`,
  content: html`<p>
      <strong>${handle}</strong> on ${networkName} is connected to
      <strong>${workspaceName}</strong>. Its posts go out there from now on.
    </p>
    <p class="quiet">You can close this page.</p>`,
});

/** While another request redeems the network's answer. */
export const waitPage = (url: string): Page => ({
  title: 'The account is being connected',
  refresh: { seconds: 2, url },
  content: html`<p>This takes a moment. The page reloads by itself.</p>
    <p><a href="${url}">Reload now</a></p>`,
});

/** Why nothing was connected. @param back Where the caller wants the browser, with the code in its query. */
export const problemPage = (message: string, back: string | null = null): Page => ({
  title: 'Nothing was connected',
  content: html`${alert(message)} ${back === null ? [] : [backLink(back)]}`,
});

const backLink = (url: string): Html =>
  html`<p><a class="button" href="${url}" rel="noreferrer">Back to ${new URL(url).host}</a></p>`;
