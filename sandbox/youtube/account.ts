import type { AccountName } from '../account-name.ts';

/** The channels of one Google account. */
export const accounts = {
  demo: {
    id: 'UCsandboxDemoChannel0000',
    title: 'Demo',
    handle: '@demo',
    uploads: 'UUsandboxDemoChannel0000',
    createdAt: '2026-01-01T00:00:00Z',
  },
  second: {
    id: 'UCsandboxSecondChannel00',
    title: 'Second',
    handle: '@second',
    uploads: 'UUsandboxSecondChannel00',
    createdAt: '2026-01-01T00:00:00Z',
  },
} as const;

const identityOf = ({ title, handle }: (typeof accounts)[AccountName]) => ({
  displayName: title,
  handle,
});

/** The accounts on the page. */
export const identities = { demo: identityOf(accounts.demo), second: identityOf(accounts.second) };

/** The channel of the token. */
export const account = { ...accounts.demo, accessToken: 'demo' } as const;
