import type { ComAtprotoServerCreateSession } from '@atproto/api';
import { blueskyAccount } from '../accounts.ts';
import { Refusal } from '../refusal.ts';
import type { Tokens } from './tokens.ts';

/** @throws Refusal 401 for anything but the demo account and its app password. */
export function createSession(tokens: Tokens, input: ComAtprotoServerCreateSession.InputSchema) {
  if (!isDemo(input.identifier) || input.password !== blueskyAccount.appPassword) {
    throw new Refusal(401, 'Invalid identifier or password', { code: 'AuthenticationRequired' });
  }
  return newSession(tokens);
}

/** A pair of tokens. The ones before stay good until they expire. */
export function newSession(tokens: Tokens) {
  return {
    ...describeSession(),
    accessJwt: tokens.issue('access'),
    refreshJwt: tokens.issue('refresh'),
  };
}

export function describeSession() {
  const { did, handle } = blueskyAccount;
  return { did, handle, emailConfirmed: true, active: true };
}

/** Whether a DID or a handle is the demo account's. Handles are read in any case. */
export function isDemo(actor: string): boolean {
  return actor === blueskyAccount.did || actor.toLowerCase() === blueskyAccount.handle;
}
