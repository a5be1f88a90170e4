import { currentGrant } from '../../accounts/current-grant.ts';
import type { CurrentGrant } from '../../accounts/grants.ts';
import { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { grantedChannel, type ChannelAccount } from './channel-account.ts';

/** The network refused an unexpired access token, but a newer one exists. The next attempt uses it. */
export class NewTokenError extends Error {
  override readonly name = 'NewTokenError';
}

/** In milliseconds. When a token younger than this is refused, the fault is the network's. */
const youngMs = 10 * 60_000;

/**
 * Decides which error applies when an attempt failed.
 *
 * A refused token alone does not prove that the access is lost: the token may have ended early, or the API may be
 * faulty. If there is a refresh token, the network's token endpoint decides.
 *
 * @param used The grant that the attempt used; null for an account with stored credentials.
 * @returns the error to handle.
 * @throws NetworkError if the refresh fails.
 */
export async function classifyTokenRefusal(
  deps: ActivityDeps,
  channel: ChannelAccount,
  used: CurrentGrant | null,
  error: unknown,
): Promise<unknown> {
  const isRefused = error instanceof NetworkError && error.code === 'access_lost';
  if (!isRefused || used === null || used.grant.refreshToken === null) {
    return error;
  }

  const { refreshedAt } = used;
  if (refreshedAt !== null && deps.now().getTime() - refreshedAt.getTime() < youngMs) {
    return new NetworkError(
      'network_unavailable',
      `${error.message} The network issued this access token less than 10 minutes ago.`,
      { accepted: error.accepted, server: 'answered', cause: error },
    );
  }

  await currentGrant(deps, grantedChannel(channel), used.grant.accessToken);
  return new NewTokenError(error.message);
}
