import { createHash, createPrivateKey, randomUUID, sign } from 'node:crypto';
import { having, oneOf, orNull, type Value } from '../../../domain/json-schema.ts';
import type { EgressResponse } from '../../../runtime/egress/egress.ts';
import { answerReader, tokenSchema } from '../../answer.ts';
import type { ServerAccess } from '../../http.ts';
import {
  getSession,
  isTokenRefused,
  wantsNonce,
  type Authorization,
  type BlueskyAnswer,
  didSchema,
} from '../client.ts';

/**
 * Path below the public URL. The document's URL is our client id, so it must never change. It is not in `client.ts`,
 * because every process reads it and only some load the library.
 */
export const metadataPath = '/connect/bluesky/client-metadata.json';

const short = { type: 'string', minLength: 1, maxLength: 4096 } as const;

/** A private key of the curve P-256: proves by DPoP that we hold a token (RFC 9449). */
const jwkSchema = having({
  kty: { const: 'EC' },
  crv: { const: 'P-256' },
  x: short,
  y: short,
  d: short,
});
export type DpopJwk = Value<typeof jwkSchema>;

const authMethod = having({ method: oneOf(['none', 'private_key_jwt']) }, { kid: short });

/** The state of a connection in progress: the library's own state record, and the account that was named. */
const flowSchema = having({
  state: short,
  record: having({ iss: short, dpopJwk: jwkSchema, authMethod, verifier: short }),
  /** Null when the person named only a server. */
  did: orNull(didSchema),
});
export type StoredFlow = Value<typeof flowSchema>;

export const readFlow = answerReader(flowSchema);

/** `Grant.data` of Bluesky: the library's session record without its tokens, and the client that it was given to. */
const grantDataSchema = having({
  clientId: short,
  redirectUri: short,
  issuer: short,
  /** The account's PDS, for which the tokens are valid. */
  audience: short,
  scope: short,
  authMethod,
  dpopJwk: jwkSchema,
});
export type GrantData = Value<typeof grantDataSchema>;

export const readGrantData = answerReader(grantDataSchema);

const grantedSchema = having({ accessToken: tokenSchema, data: grantDataSchema });

type GrantedAccess = Value<typeof grantedSchema>;

/** Null for an account that was connected with an app password. */
export const readGrantedAccess = answerReader(grantedSchema);

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
  call: (authorization: Authorization) => Promise<BlueskyAnswer>,
): Promise<BlueskyAnswer> {
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
    const url = `${origin}${path.replace(/[?#].*$/sv, '')}`;
    const nonce = nonces.get(origin);
    return {
      authorization: `DPoP ${accessToken}`,
      dpop: proofOf(dpopJwk, { method, url, accessToken, nonce }),
    };
  },
});

type ProofOptions = {
  readonly method: string;
  /** Without query and fragment. */
  readonly url: string;
  readonly accessToken: string;
  readonly nonce: string | undefined;
};

/** Makes a DPoP proof for one request (RFC 9449, section 4.2): it shows that we hold the token's key. */
function proofOf(jwk: DpopJwk, { method, url, accessToken, nonce }: ProofOptions): string {
  const { kty, crv, x, y } = jwk;
  const header = { alg: 'ES256', typ: 'dpop+jwt', jwk: { kty, crv, x, y } };
  const claims = {
    jti: randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(Date.now() / 1000),
    ath: createHash('sha256').update(accessToken).digest('base64url'),
    ...(nonce !== undefined && { nonce }),
  };
  const signed = [header, claims].map(encoded).join('.');
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** How long a nonce counts as fresh, in milliseconds. A PDS accepts each for at least a minute. */
const freshMs = 45_000;

/** Beyond this number of servers, the one that was used longest ago is removed. */
const mostOrigins = 1000;

type Known = { readonly nonce: string | undefined; readonly atMs: number };

const known = new Map<string, Known>();

/** The DPoP nonces that servers expect (RFC 9449, section 8), by origin. Shared by all accounts of this process. */
export const nonces = {
  get: (origin: string): string | undefined => known.get(origin)?.nonce,
  /** @param nonce Undefined for a server without nonces. */
  set: (origin: string, nonce: string | undefined): void => {
    known.delete(origin);
    known.set(origin, { nonce, atMs: Date.now() });
    const [oldest] = known.keys();
    if (known.size > mostOrigins && oldest !== undefined) {
      known.delete(oldest);
    }
  },
  del: (origin: string): void => void known.delete(origin),
};

/** Whether a server will probably accept a proof at the first request. */
const isFresh = (origin: string): boolean => Date.now() - (known.get(origin)?.atMs ?? 0) < freshMs;

function noteNonce(origin: string, { headers }: EgressResponse): void {
  nonces.set(origin, headers['dpop-nonce'] ?? nonces.get(origin));
}
