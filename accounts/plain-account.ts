import type { Account } from '../networks/network.ts';

export type PlainAccount = Account & { readonly displayName: string | null };

/** In characters, of a display name: no network has longer ones, but a server of one's own may. */
const mostCharacters = 200;

/** The account with a handle and a name that stand on one line. */
export function plainAccount(account: Account): PlainAccount {
  return {
    ...account,
    handle: onOneLine(account.handle) || account.remoteId,
    displayName: plainName(account.displayName),
  };
}

/** A display name as a network says it; null where it is no text, or holds nothing that can be seen. */
export const plainName = (name: unknown): string | null =>
  typeof name === 'string'
    ? [...onOneLine(name)].slice(0, mostCharacters).join('').trim() || null
    : null;

/**
 * A server may use control characters, which no database or terminal takes well, and characters that turn around what
 * stands beside the text.
 */
const onOneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\s]+/gu, ' ')
    .trim()
    .toWellFormed();
