import { createECDH, createHash } from 'node:crypto';

export type Derive = (purpose: string, lengthBytes: number) => Uint8Array;

/** A private key of the curve P-256, for ES256. */
export type SigningJwk = {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly d: string;
  readonly kid: string;
  readonly alg: 'ES256';
};

/** The order of the group of P-256. */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/**
 * The key that identifies this installation to authorization servers.
 *
 * It is derived from SECRET_KEY: all processes have the same key without a table, and so does a restored database.
 * Another SECRET_KEY makes another key, which loses nothing more, because grants are sealed with it too.
 *
 * 48 bytes for a 32-byte number, so that all values are equally likely (FIPS 186-5, A.2.1).
 */
export function signingKey(derive: Derive): SigningJwk {
  const bytes = Buffer.from(derive('bluesky/client-key', 48));
  const number = (BigInt(`0x${bytes.toString('hex')}`) % (order - 1n)) + 1n;
  const secret = Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(secret);
  const point = curve.getPublicKey(); // 0x04, x, y
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) =>
    half.toString('base64url'),
  ) as [string, string];
  const d = secret.toString('base64url');
  return { kty: 'EC', crv: 'P-256', x, y, d, kid: thumbprint({ x, y }), alg: 'ES256' };
}

/** The JWK thumbprint of RFC 7638. */
const thumbprint = ({ x, y }: { readonly x: string; readonly y: string }): string =>
  createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');

export const publicJwk = ({ d: _, ...jwk }: SigningJwk) => ({ ...jwk, use: 'sig' as const });
