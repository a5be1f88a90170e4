import { createHash, createPrivateKey, randomUUID, sign } from 'node:crypto';
import type { DpopJwk } from './stored-data.ts';

export type ProofOptions = {
  readonly method: string;
  /** Without query and fragment. */
  readonly url: string;
  readonly accessToken: string;
  /** The server's DPoP nonce, if it uses one. */
  readonly nonce: string | undefined;
};

/** Makes a DPoP proof for one request (RFC 9449, section 4.2): it shows that we hold the token's key. */
export function proofOf(jwk: DpopJwk, { method, url, accessToken, nonce }: ProofOptions): string {
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
