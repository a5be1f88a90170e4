import type { EgressResponse } from '../../../runtime/egress/egress.ts';

/** How long a nonce is used without a doubt, in milliseconds. A PDS takes each for a minute at least. */
const freshMs = 45_000;

/** Servers are forgotten beyond this, the one that was heard of first before the others. */
const mostOrigins = 1000;

type Known = { readonly nonce: string | undefined; readonly atMs: number };

const known = new Map<string, Known>();

/** What servers want in the proofs of DPoP (RFC 9449, section 8), by origin: of this process, for all its accounts. */
export const nonces = {
  get: (origin: string): string | undefined => known.get(origin)?.nonce,
  /** @param nonce Undefined for a server that wants none. */
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

/** Whether a proof for this server is likely to be taken the first time. */
export const isFresh = (origin: string): boolean =>
  Date.now() - (known.get(origin)?.atMs ?? 0) < freshMs;

export function noteNonce(origin: string, { headers }: EgressResponse): void {
  nonces.set(origin, headers['dpop-nonce'] ?? nonces.get(origin));
}
