import type { AccountName } from '../account-name.ts';

/** The token belongs to the demo account. */
export const accounts = {
  demo: { id: '2000000000000000001', username: 'demo', displayName: 'Demo' },
  second: { id: '2000000000000000002', username: 'second', displayName: 'Second' },
} as const;

const identityOf = ({ displayName, username }: (typeof accounts)[AccountName]) => ({
  displayName,
  handle: `@${username}`,
});

/** The accounts on the page. */
export const identities = { demo: identityOf(accounts.demo), second: identityOf(accounts.second) };

export const account = { ...accounts.demo, accessToken: 'demo' } as const;
