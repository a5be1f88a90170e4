import { html, type Html } from '../../../runtime/html.ts';

/** What the forms of a page carry. */
export type Form = { readonly action: string; readonly key: string };

/** @param step What the form does, for `sendForm`. */
export const formOf = ({ action, key }: Form, step: string, content: Html): Html =>
  html`<form method="post" action="${action}">
    <input type="hidden" name="key" value="${key}" />
    <input type="hidden" name="step" value="${step}" />
    ${content}
  </form>`;
