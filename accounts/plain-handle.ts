import type { Account } from '../networks/network.ts';

/**
 * The account with a handle that stands on one line: a server may name it with control characters, which no database or
 * terminal takes well, and with characters that turn around what stands beside it.
 */
export function plainHandle(account: Account): Account {
  const handle = account.handle.replaceAll(/[\p{Cc}\p{Bidi_Control}\s]+/gu, ' ').trim();
  return { ...account, handle: handle.toWellFormed() || account.remoteId };
}
