import { html, type Html } from '../../../runtime/html.ts';

/** Fields of every form of a page. */
export type Form = { readonly action: string; readonly key: string };

/** @param step The form's action, for `sendForm`. */
export const formOf = ({ action, key }: Form, step: string, content: Html): Html =>
  html`<form method="post" action="${action}">
    <input type="hidden" name="key" value="${key}" />
    <input type="hidden" name="step" value="${step}" />
    ${content}
  </form>`;
