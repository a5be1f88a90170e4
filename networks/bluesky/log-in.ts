import { answerReader, jsonOf } from '../answer.ts';
import type { Way } from '../ask.ts';
import { NetworkError, type Json } from '../network.ts';
import { quote } from '../quote.ts';
import { readLogin, readXrpcError, type Login } from './answers.ts';
import { errorName, refusal, unreadable } from './errors.ts';
import { procedure } from './xrpc.ts';

export type BlueskyCredentials = {
  /** A handle or a DID. */
  readonly identifier: string;
  readonly appPassword: string;
};

/** Null when they are not those of a Bluesky account. */
export const readCredentials: (credentials: Json) => BlueskyCredentials | null = answerReader({
  type: 'object',
  required: ['identifier', 'appPassword'],
  properties: {
    identifier: { type: 'string', minLength: 1 },
    appPassword: { type: 'string', minLength: 1 },
  },
});

/**
 * Signs in with an app password.
 *
 * The refresh token of the answer is left alone: to use one twice ends the session, and two workers could.
 *
 * @throws NetworkError `access_lost` when the password or the account is no longer good, with `taken: 'no'` like all
 *   its errors, because no post was sent yet.
 */
export async function logIn(way: Way, credentials: BlueskyCredentials): Promise<Login> {
  const { identifier, appPassword: password } = credentials;
  const input = { identifier, password };
  const method = 'com.atproto.server.createSession';
  const response = await procedure(way, method, input, { purpose: 'prepare' });
  if (response.status === 400 && errorName(response) === 'InvalidRequest') {
    // An identifier that cannot be one. The server would say it of no other login.
    const words = quote(readXrpcError(jsonOf(response))?.message, [password]);
    const message = `The Bluesky server does not know this account (HTTP 400)${words && `: ${words}`}.`;
    throw new NetworkError('access_lost', message, { taken: 'no' });
  }
  if (response.status !== 200) {
    throw refusal(response, 'prepare', [password]);
  }

  const login = readLogin(jsonOf(response));
  if (!login) {
    throw unreadable('prepare');
  }
  return login;
}
