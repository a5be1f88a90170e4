import type { AccountName } from '../account-name.ts';

export const members = {
  demo: { id: 'sandboxDemo', displayName: 'Demo' },
  second: { id: 'sandboxSecond', displayName: 'Second' },
} as const;

/** The member behind both tokens. */
export const account = {
  ...members.demo,
  /** Of an app that may do everything. */
  accessToken: 'demo',
  /** Of an app as everybody gets one: it posts, and reads neither posts nor comments nor writes any. */
  selfServeToken: 'demo-self-serve',
} as const;

/** A page that the demo member runs. */
export const page = { id: '1000', vanityName: 'demo-page', displayName: 'Demo Page' } as const;

const identityOf = ({ displayName }: (typeof members)[AccountName]) => ({
  displayName,
  handle: displayName,
});

/** As the page shows them. */
export const identities = { demo: identityOf(members.demo), second: identityOf(members.second) };

export const urnOf = ({ id }: { readonly id: string }): string => `urn:li:person:${id}`;
export const pageUrn = `urn:li:organization:${page.id}`;

/** In which the member only looks at numbers. */
export const otherPageUrn = 'urn:li:organization:1001';
