import { isAtprotoDid, type HandleResolver } from '@atproto/oauth-client-node';
import { sendRequest, type ServerAccess } from '../../send-request.ts';
import { resolveHandle } from '../resolve-handle.ts';

/**
 * Finds the DID behind a handle by HTTP alone.
 *
 * A handle stands in DNS (a TXT record) or at its own address. The AppView knows both and is asked first: raw DNS would
 * go past the guard of egress, and DNS over HTTPS would tell one more company who connects which account. The address
 * itself is asked where the AppView knows none or does not answer, as for accounts of a network of their own.
 *
 * Whoever answers here is not believed: the account's DID document must name the handle, and its server the account.
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
  const response = await sendRequest(server, request, 'The handle').catch(() => null);
  const [line = ''] = response?.status === 200 ? response.body.toString().split('\n', 1) : [];
  return isAtprotoDid(line.trim()) ? (line.trim() as `did:plc:${string}`) : null;
}
