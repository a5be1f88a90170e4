import type { AccountName } from '../account-name.ts';

const shared = { domain: 'sandbox', createdAt: '2026-01-01T00:00:00.000Z' } as const;

export const accounts = {
  demo: { ...shared, id: '100000000000000001', username: 'demo', displayName: 'Demo' },
  second: { ...shared, id: '100000000000000002', username: 'second', displayName: 'Second' },
} as const;

const identityOf = ({ displayName, username, domain }: (typeof accounts)[AccountName]) => ({
  displayName,
  handle: `@${username}@${domain}`,
});

/** The accounts on the page. */
export const identities = { demo: identityOf(accounts.demo), second: identityOf(accounts.second) };

/** The account of the token. */
export const account = { ...accounts.demo, accessToken: 'demo' } as const;
