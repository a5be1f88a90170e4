import type { Json } from '../../../domain/json-schema.ts';
import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { answerReader } from '../../answer.ts';
import type { ServerAccess } from '../../send-request.ts';
import { getSession, isTokenRefused, wantsNonce, type Authorization } from '../client.ts';
import { readGrantData, type GrantData } from './kept.ts';
import { isFresh, nonces, noteNonce } from './nonces.ts';
import { proofOf } from './proof.ts';

/** What the core opens an account with that was connected in a browser. */
export type GrantedAccess = { readonly accessToken: string; readonly data: GrantData };

const readToken = answerReader<{ readonly accessToken: string; readonly data: Json }>({
  type: 'object',
  required: ['accessToken', 'data'],
  properties: { accessToken: { type: 'string', pattern: '^[\\x21-\\x7e]+$' }, data: {} },
});

/** Null for an account that was connected with an app password. */
export function readGrantedAccess(credentials: Json): GrantedAccess | null {
  const token = readToken(credentials);
  const data = readGrantData(token?.data);
  return token && data && { accessToken: token.accessToken, data };
}

/**
 * Calls the server with the token of a grant and a proof for each request. A refused token is not replaced here: the
 * core renews the grant, under its lock, and tries again.
 *
 * A call whose nonce is over is made once more with the one that the refusal brought, also one that creates a post: a
 * server checks the proof before it looks at anything else, so the refused call did nothing (RFC 9449, section 9). As
 * an upload would send its file in vain for that, and a creating call is best refused as seldom as can be, a server
 * that was not heard of for a while is asked for its nonce first.
 *
 * @param call Made anew each time: the body of an upload is read from its beginning.
 */
export async function withProof(
  server: ServerAccess,
  granted: GrantedAccess,
  call: (authorization: Authorization) => Promise<EgressResponse>,
): Promise<EgressResponse> {
  // The server knows itself by the address in its account's DID document, whatever it is reached by.
  const { origin } = new URL(granted.data.audience);
  const authorization = authorizationOf(granted, origin);
  const noted = async (make: typeof call) => {
    const response = await make(authorization);
    noteNonce(origin, response);
    return response;
  };
  const twice = async (make: typeof call) => {
    const response = await noted(make);
    return wantsNonce(response) ? noted(make) : response;
  };

  if (!isFresh(origin)) {
    const response = await twice((first) => getSession(server, first));
    if (isTokenRefused(response)) {
      return response;
    }
  }

  return twice(call);
}

const authorizationOf = (
  { accessToken, data: { dpopJwk } }: GrantedAccess,
  origin: string,
): Authorization => ({
  secret: accessToken,
  headersFor: (method, path) => {
    const url = `${origin}${path.replace(/[?#].*$/v, '')}`;
    const nonce = nonces.get(origin);
    return {
      authorization: `DPoP ${accessToken}`,
      dpop: proofOf(dpopJwk, { method, url, accessToken, nonce }),
    };
  },
});
