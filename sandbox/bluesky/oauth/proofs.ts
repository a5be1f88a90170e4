import { createHash, createHmac, createPublicKey, verify } from 'node:crypto';
import type { Context } from 'koa';
import { dropOldest } from '../../drop-oldest.ts';
import { Refusal } from '../../refusal.ts';

/** A nonce is valid in its own minute and the next. */
const nonceMs = 60_000;
/** Tolerated difference of a proof's clock. */
const toleranceSeconds = 180;
/** The most proofs remembered. */
const maxProofs = 10_000;

/** A rejected proof: `use_dpop_nonce`, `invalid_dpop_proof`. */
export class ProofFault extends Refusal {}

export type Proofs = {
  /** The nonce for the next proof. */
  nonce(): string;
  /**
   * Checks the proof of a request (RFC 9449, section 4.3).
   *
   * @returns the thumbprint of its key.
   * @throws ProofFault
   */
  check(ctx: Context, accessToken?: string): string;
};

type Jwk = { readonly kty: string; readonly crv: string; readonly x: string; readonly y: string };

/** @param secret The sandbox's secret. */
export function createProofs(secret: string): Proofs {
  const seen = new Set<string>();
  const nonceAt = (ms: number): string =>
    createHmac('sha256', secret)
      .update(`dpop ${Math.floor(ms / nonceMs)}`)
      .digest('base64url');
  return {
    nonce: () => nonceAt(Date.now()),
    check(ctx, accessToken) {
      const { claims, jwk } = readProof(ctx.get('dpop'));
      const nowMs = Date.now();
      const ath = accessToken && createHash('sha256').update(accessToken).digest('base64url');
      const { htm, htu, iat, jti, nonce } = claims;
      assert(htm === ctx.method, 'DPoP "htm" mismatch');
      assert(isAddressOf(ctx, String(htu)), 'DPoP "htu" mismatch');
      assert(Math.abs(Number(iat) - nowMs / 1000) < toleranceSeconds, 'DPoP "iat" is too far off');
      assert(claims['ath'] === ath, 'DPoP "ath" mismatch');
      if (nonce !== nonceAt(nowMs) && nonce !== nonceAt(nowMs - nonceMs)) {
        const message = 'Authorization server requires nonce in DPoP proof';
        throw new ProofFault(401, message, { code: 'use_dpop_nonce' });
      }
      assert(typeof jti === 'string' && !seen.has(jti), 'DPoP proof replayed');
      seen.add(String(jti));
      dropOldest(seen, maxProofs);
      return thumbprintOf(jwk);
    },
  };
}

function assert(isRight: boolean, message: string): asserts isRight {
  if (!isRight) {
    throw new ProofFault(401, message, { code: 'invalid_dpop_proof' });
  }
}

/** The URL may be a proxy's, or the sandbox's own behind the proxy. */
function isAddressOf(ctx: Context, address: string): boolean {
  const url = URL.parse(address);
  const own = `127.0.0.1:${ctx.req.socket.localPort}`;
  const [path] = ctx.originalUrl.split('?', 1);
  return url !== null && [ctx.host, own].includes(url.host) && url.pathname === path;
}

function readProof(proof: string): { claims: Readonly<Record<string, unknown>>; jwk: Jwk } {
  const [header = '', claims = '', signature = ''] = proof.split('.');
  try {
    const { typ, alg, jwk } = decoded(header) as { typ?: string; alg?: string; jwk: Jwk };
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    const isOurs = typ === 'dpop+jwt' && alg === 'ES256' && jwk.crv === 'P-256' && !('d' in jwk);
    const isSigned = verify(
      'sha256',
      Buffer.from(`${header}.${claims}`),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    assert(isOurs && isSigned, 'The proof is not signed as it says');
    return { claims: decoded(claims) as Record<string, unknown>, jwk };
  } catch (error) {
    throw error instanceof ProofFault
      ? error
      : new ProofFault(401, 'Failed to verify DPoP proof', { code: 'invalid_dpop_proof' });
  }
}

const decoded = (part: string): unknown =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));

/** RFC 7638. */
const thumbprintOf = ({ crv, kty, x, y }: Jwk): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
