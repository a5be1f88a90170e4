import type { AccountName } from '../account-name.ts';

/** The account that signs in with an app password. */
export const account = {
  did: 'did:plc:punctualsandboxdemo22222',
  handle: 'demo.sandbox.test',
  displayName: 'Demo',
  appPassword: 'demo',
} as const;

/** The second account signs in with a browser only. */
const accounts = {
  demo: account,
  second: {
    did: 'did:plc:punctualsandboxtwo222222',
    handle: 'second.sandbox.test',
    displayName: 'Second',
  },
} as const;

export const identities = {
  demo: { displayName: accounts.demo.displayName, handle: `@${accounts.demo.handle}` },
  second: { displayName: accounts.second.displayName, handle: `@${accounts.second.handle}` },
};

export const accountOf = (name: AccountName) => accounts[name];

/** @param actor A DID or a handle, in any case. */
export function accountNamed(actor: string): AccountName | null {
  const names = ['demo', 'second'] as const;
  const isMeant = ({ did, handle }: { readonly did: string; readonly handle: string }): boolean =>
    actor === did || actor.toLowerCase() === handle;
  return names.find((name) => isMeant(accounts[name])) ?? null;
}
