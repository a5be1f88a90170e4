import type { Json } from '../../../domain/json-schema.ts';
import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { answerReader } from '../../answer.ts';
import type { ServerAccess } from '../../send-network-request.ts';
import { getSession, isTokenRefused, wantsNonce, type Authorization } from '../client.ts';
import { readGrantData, type GrantData } from './stored-data.ts';
import { isFresh, nonces, noteNonce } from './nonces.ts';
import { proofOf } from './proof.ts';

/** The credentials of an account that was connected in a browser. */
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
 * core renews the grant, under its lock, and calls again.
 *
 * When the nonce has expired, the call is repeated with the nonce from the refusal, even if it creates a post: a server
 * checks the proof first, so the refused call did nothing (RFC 9449, section 9). To avoid refused uploads and creates,
 * a server without a fresh nonce is first asked for one.
 *
 * @param call Called once per request, so that the body of an upload is read from its beginning.
 */
export async function withProof(
  server: ServerAccess,
  granted: GrantedAccess,
  call: (authorization: Authorization) => Promise<EgressResponse>,
): Promise<EgressResponse> {
  // The server expects the origin in its account's DID document, whatever address we reach it by.
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
