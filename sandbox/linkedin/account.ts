import type { AccountName } from '../account-name.ts';

export const members = {
  demo: { id: 'sandboxDemo', displayName: 'Demo' },
  second: { id: 'sandboxSecond', displayName: 'Second' },
} as const;

/** The member behind both tokens. */
export const account = {
  ...members.demo,
  /** Token of an app with every permission. */
  accessToken: 'demo',
  /** Token of a self-serve app: it posts, but cannot read posts, or read or write comments. */
  selfServeToken: 'demo-self-serve',
} as const;

/** A page that the demo member administers. */
export const companyPage = {
  id: '1000',
  vanityName: 'demo-page',
  displayName: 'Demo Page',
} as const;

const identityOf = ({ displayName }: (typeof members)[AccountName]) => ({
  displayName,
  handle: displayName,
});

/** The accounts on the page. */
export const identities = { demo: identityOf(members.demo), second: identityOf(members.second) };

export const urnOf = ({ id }: { readonly id: string }): string => `urn:li:person:${id}`;
export const pageUrn = `urn:li:organization:${companyPage.id}`;

/** A page where the member may only see analytics. */
export const otherPageUrn = 'urn:li:organization:1001';
