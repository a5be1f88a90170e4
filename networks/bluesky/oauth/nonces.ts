import type { EgressResponse } from '../../../runtime/egress/egress.ts';

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
export const isFresh = (origin: string): boolean =>
  Date.now() - (known.get(origin)?.atMs ?? 0) < freshMs;

export function noteNonce(origin: string, { headers }: EgressResponse): void {
  nonces.set(origin, headers['dpop-nonce'] ?? nonces.get(origin));
}
