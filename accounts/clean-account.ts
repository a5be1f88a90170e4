import type { Account } from '../networks/network.ts';

export type CleanAccount = Account & { readonly displayName: string | null };

/** Limit of a display name, in characters. No network allows longer ones, but a self-hosted server may. */
const mostCharacters = 200;

/** Returns the account with its handle and name reduced to one line. */
export function cleanAccount(account: Account): CleanAccount {
  return {
    ...account,
    handle: onOneLine(account.handle) || account.remoteId,
    displayName: cleanName(account.displayName),
  };
}

/** The display name as one line; null when it is not a string or has no visible characters. */
export const cleanName = (name: unknown): string | null =>
  typeof name === 'string'
    ? [...onOneLine(name)].slice(0, mostCharacters).join('').trim() || null
    : null;

/**
 * Removes control characters, which databases and terminals handle badly, and bidirectional controls, which reorder
 * the surrounding text.
 */
const onOneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
