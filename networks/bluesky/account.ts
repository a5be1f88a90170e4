import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { CheckAccount } from '../network-entry.ts';
import { NetworkError } from '../network.ts';
import { didSchema, getSession, refusal, unreadable } from './client.ts';
import { withSession } from './session.ts';

type Profile = {
  readonly did: string;
  readonly handle: string;
  /** Absent on servers without account states. */
  readonly active?: boolean;
};

/** Reads the response of `com.atproto.server.getSession`; null for an unexpected shape. */
export const readProfile: (answer: unknown) => Profile | null = answerReader({
  type: 'object',
  required: ['did', 'handle'],
  properties: {
    did: didSchema,
    handle: { type: 'string', minLength: 1, maxLength: 253 },
    active: { type: 'boolean' },
  },
});

/** Asks the server for the account's identity. An app password signs in only when the stored session has expired. */
export const checkAccount: CheckAccount = async (connection) => {
  const saveSession = () => Promise.resolve();
  let secret = '';
  const response: EgressResponse = await withSession(
    { ...connection, saveSession },
    (authorization) => {
      ({ secret } = authorization);
      return getSession(connection, authorization);
    },
  );
  if (response.status !== 200) {
    throw refusal(response, 'prepare', [secret]);
  }

  const profile = readProfile(jsonOf(response));
  if (!profile) {
    throw unreadable('prepare');
  }
  if (profile.active === false) {
    const message = 'The Bluesky account is deactivated.';
    throw new NetworkError('access_lost', message, { accepted: 'no', server: 'answered' });
  }

  return { remoteId: profile.did, handle: profile.handle };
};
