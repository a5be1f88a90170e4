import { currentGrant } from '../../accounts/current-grant.ts';
import type { Current } from '../../accounts/grants.ts';
import { NetworkError } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import { grantedChannel, type ChannelAccount } from './channel-account.ts';

/** The network refused an access token that should have lasted, and there is a newer one: the next try has it. */
export class NewTokenError extends Error {
  override readonly name = 'NewTokenError';
}

/** A token younger than this is not what the network refuses, in milliseconds. */
const youngMs = 10 * 60_000;

/**
 * What a failure of a try says of the channel's access.
 *
 * An API that refuses a token proves little: the token may have ended early, or the API has a bad hour. Whether the grant
 * itself is over is for the network's token endpoint to say, wherever there is a refresh token to ask it with.
 *
 * @param used What the try had; null where the account is opened by credentials of its own.
 * @returns the error to go by.
 * @throws NetworkError of the refresh.
 */
export async function judgeRefusal(
  deps: ActivityDeps,
  channel: ChannelAccount,
  used: Current | null,
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
      `${error.message} It had handed out this access a moment before.`,
      { taken: error.taken, server: 'answered', cause: error },
    );
  }

  await currentGrant(deps, grantedChannel(channel), used.grant.accessToken);
  return new NewTokenError(error.message);
}
