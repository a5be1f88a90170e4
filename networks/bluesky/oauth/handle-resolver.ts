import { isAtprotoDid, type HandleResolver } from '@atproto/oauth-client-node';
import { sendNetworkRequest, type ServerAccess } from '../../send-network-request.ts';
import { resolveHandle } from '../resolve-handle.ts';

/**
 * Finds the DID of a handle, by HTTP only.
 *
 * A handle is declared in DNS (a TXT record) or at its own host. The AppView knows both and is asked first: raw DNS
 * would bypass the egress guard, and DNS over HTTPS would reveal to another company who connects which account. The
 * host itself is asked when the AppView does not know the handle or does not answer, as for accounts of a separate
 * network.
 *
 * The answer is not trusted: the account's DID document must name the handle, and its server must confirm the account.
 *
 * @param resolver Answers `com.atproto.identity.resolveHandle`.
 */
export const httpHandleResolver = (resolver: ServerAccess): HandleResolver => ({
  async resolve(handle) {
    const answer = await resolveHandle(resolver, handle).catch((error: unknown) => ({ error }));
    if (typeof answer === 'string') {
      return isAtprotoDid(answer) ? answer : null;
    }

    const own = await atOwnAddress(resolver, handle);
    if (own === null && answer !== null) {
      throw answer.error;
    }

    return own;
  },
});

/** Source: https://atproto.com/specs/handle#https-well-known-method */
async function atOwnAddress({ http, signal }: ServerAccess, handle: string) {
  const server = { http, baseUrl: `https://${handle}`, ...(signal && { signal }) };
  const request = { method: 'GET', path: '/.well-known/atproto-did', purpose: 'prepare' } as const;
  const response = await sendNetworkRequest(server, request, 'The handle').catch(() => null);
  const [line = ''] = response?.status === 200 ? response.body.toString().split('\n', 1) : [];
  return isAtprotoDid(line.trim()) ? (line.trim() as `did:plc:${string}`) : null;
}
