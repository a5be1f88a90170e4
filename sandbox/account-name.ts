/** Every network has two accounts, so that a user can sign in with the wrong one. */
export const accountNames = ['demo', 'second'] as const;

export type AccountName = (typeof accountNames)[number];

/** The displayed names of an account. */
export type Identity = { readonly displayName: string; readonly handle: string };

export function isAccountName(name: unknown): name is AccountName {
  return accountNames.some((known) => known === name);
}
